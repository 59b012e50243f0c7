"""What is known about a symptom or an error message."""

from __future__ import annotations

from gradledger.ledger.values import Value


class Cause(Value):
    """One likely cause, and how to get rid of it."""

    what: str
    fix: str
    rule: str = ""
    """The code of the rule that it breaks; empty where it breaks no law of the ledger."""


class Entry(Value):
    """A symptom or a message, with its likely causes in order, the likeliest first."""

    name: str
    """Short, unique, and the name of its page: `loss-oscillates`."""
    title: str
    says: str
    """What is going on, in a few sentences."""
    causes: tuple[Cause, ...]
    messages: tuple[str, ...] = ()
    """For an error: what torch or Python prints, without the parts that differ each time. A `…`
    stands for a few characters."""
    words: tuple[str, ...] = ()
    """Other ways in which people say it."""

    @property
    def rules(self) -> tuple[str, ...]:
        """The codes of the rules among its causes, each once."""
        return tuple(dict.fromkeys(cause.rule for cause in self.causes if cause.rule))

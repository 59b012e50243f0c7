"""What a rule is: facts for people, and one predicate for every front end."""

from __future__ import annotations

from gradledger.ledger.enums import Enum
from gradledger.ledger.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from gradledger.ledger import Breach, Law, Page

    Predicate = Callable[[Page, Any], Iterable[Breach]]
    """Given the page before an event and the event, every way in which it breaks the rule."""


class Severity(Enum):
    """How bad it is to leave it so."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class SeenBy(Enum):
    """Which front ends can see a rule broken."""

    BOTH = "check and run"
    CHECK = "check"
    RUN = "run"
    RUN_AND_PLAIN_SOURCE = "run, and check where the source is plain"

    @property
    def by_check(self) -> bool:
        """Whether the static checker sees it."""
        return self is not SeenBy.RUN

    @property
    def by_run(self) -> bool:
        """Whether the runtime auditor sees it."""
        return self is not SeenBy.CHECK


class Rule(Value):
    """A way to break a law. The texts are complete sentences, for people."""

    code: str
    name: str
    severity: Severity
    law: Law
    seen_by: SeenBy
    says: str
    """What is wrong, in the words of a message: starts lower case, no full stop."""
    explains: str
    """What breaks the rule and what does not, for somebody who has never heard of it."""
    why: str
    """What it does to training."""
    fix: str
    """The cure, as an order: starts lower case, no full stop."""
    symptom: str
    """What a person sees who does not know the cause."""
    broken: Predicate
    """It is asked at the events that stand in its line of the catalogue."""
    yields_to: tuple[str, ...] = ()
    """Rules that name the cause, where this one at the same place is only its symptom."""
    stops: bool = False
    """An exception is raised here, by torch or by Python: nothing after it happens."""
    likely_on_some_paths: bool = False
    """Broken on some paths, it is nearly always real: likely and not just possible, so that `check`
    shows it without being asked."""

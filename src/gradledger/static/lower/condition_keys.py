"""What a test asks for: the same question twice has the same answer along one path."""

from __future__ import annotations

from gradledger.ledger.values import Value
from gradledger.static.ir import condition_names


class Ask(Value):
    """A condition by name; None where it is no two times the same."""

    name: str | None
    positive: bool = True


class Both(Value):
    """`a and b`, or, negated, `a or b`."""

    parts: tuple[Condition, ...]
    all: bool


Condition = bool | Ask | Both

UNNAMED = Ask(None)


def counts_rounds(asked: Condition) -> bool:
    """Is it about where in a window or in a loop this is?"""
    if isinstance(asked, Ask):
        return asked.name is not None and condition_names.of_rounds(asked.name)
    return isinstance(asked, Both) and any(map(counts_rounds, asked.parts))


def negated(asked: Condition) -> Condition:
    """The opposite."""
    match asked:
        case Ask(name, positive):
            return Ask(name, not positive)
        case Both(parts, every):
            return Both(tuple(map(negated, parts)), not every)
        case _:
            return not asked


def both(parts: tuple[Condition, ...], all: bool) -> Condition:
    """All of them, or any, as far as they are not known."""
    if any(part is (not all) for part in parts):
        return not all
    rest = tuple(part for part in parts if part is not all)
    if not rest:
        return all
    return rest[0] if len(rest) == 1 else Both(rest, all)

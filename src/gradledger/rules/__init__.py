"""The rule catalogue: every rule, in the order of its code."""

from gradledger.rules import catalogue
from gradledger.rules.catalogue import find, judge, judge_source, stops
from gradledger.rules.rule import Rule, SeenBy, Severity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.rules.catalogue import CATALOGUE, YIELDS_TO

__all__ = [
    "CATALOGUE",
    "YIELDS_TO",
    "Rule",
    "SeenBy",
    "Severity",
    "find",
    "judge",
    "judge_source",
    "stops",
]


def __getattr__(name: str) -> object:
    if name in ("CATALOGUE", "YIELDS_TO"):  # these load every rule
        return getattr(catalogue, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""The rule catalogue: every rule, in the order of its code."""

from gradledger.rules.catalogue import CATALOGUE, YIELDS_TO, find, judge
from gradledger.rules.rule import Rule, SeenBy, Severity

__all__ = [
    "CATALOGUE",
    "YIELDS_TO",
    "Rule",
    "SeenBy",
    "Severity",
    "find",
    "judge",
]

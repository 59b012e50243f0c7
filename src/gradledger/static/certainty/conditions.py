"""What a rule asks for to be certain, besides a law that is broken on all paths of a round."""

from __future__ import annotations

from collections.abc import Callable, Collection

from gradledger.ledger.findings import Finding
from gradledger.ledger.values import Value
from gradledger.static.certainty.sight import Sight
from gradledger.static.solve.breaches import Breaches, Fault, Visit
from gradledger.static.solve.solver import Solution


def on_options(met: Breaches, options: Collection[str]) -> Collection[str]:
    """What is broken whenever an option has some answer is certain, for those who chose it."""
    return options


def on_nothing(met: Breaches, options: Collection[str]) -> Collection[str]:
    """Rules about something that did not happen: with an option, it may have happened elsewhere."""
    return ()


def on_earlier_steps(met: Breaches, options: Collection[str]) -> Collection[str]:
    """The first step is innocent: what counts is whether the next one can be."""
    return {*options, *met.stepped}


def never(fault: Fault, visit: Visit, met: Breaches) -> bool:
    """No round is certain that is not so on all of its paths."""
    return False


def not_otherwise(finding: Finding, solution: Solution, options: Collection[str]) -> bool:
    """Nothing but paths makes it certain."""
    return False


def always(finding: Finding, sight: Sight) -> bool | None:
    """What breaks the law stands in the code: there is nothing else to see."""
    return True


class Conditions(Value):
    """The conditions of one rule. The defaults are those of a rule that has none of its own."""

    may_depend_on: Callable[[Breaches, Collection[str]], Collection[str]] = on_options
    """The facts that a breach may depend on and still be certain."""
    certain_round: Callable[[Fault, Visit, Breaches], bool] = never
    """True if it is certain in this round, although not on all paths."""
    certain_anyway: Callable[[Finding, Solution, Collection[str]], bool] = not_otherwise
    """True if it is certain although no round is."""
    grounds: Callable[[Finding, Sight], bool | None] = always
    """True if the code around it is understood well enough to be certain.

    False makes the finding possible; None leaves it out.
    """
    of_missing_steps: bool = False
    """It tells the cause where nobody steps at all; what other rules say follows from that."""
    of_one_optimizer: bool = False
    """It need not know what happens to the cells of other optimizers."""
    of_schedules: bool = False
    """It needs to know of steps and schedules alone."""
    in_turns: str = ""
    """What it is about (`lower/root.py`), if it holds for a function that somebody out of sight
    calls again and again."""

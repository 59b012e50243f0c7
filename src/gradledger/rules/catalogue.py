"""The catalogue: a line for each rule, a way to look rules up, and the judge that asks them.

A rule's file is loaded when the rule is asked or read about: a small program breaks none, and does
little of what rules are asked about.
"""

from __future__ import annotations

from importlib import import_module

from gradledger.errors import UnknownRuleError
from gradledger.ledger.events import (
    Backward,
    Clear,
    Clip,
    Compare,
    EpochEnd,
    Gone,
    Keep,
    Read,
    RunEnd,
    Schedule,
    Skipped,
    Step,
    Sync,
    Unscale,
    Update,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradledger.ledger import Breach, Page
    from gradledger.ledger.events import Event
    from gradledger.rules.rule import Rule

EVENTS: dict[str, tuple[type[Event], ...]] = {
    "gl101_spent_gradient_reused": (Step,),
    "gl102_foreign_gradient_spent": (Step,),
    "gl201_gradient_cleared_unspent": (Clear,),
    "gl202_step_without_gradient": (Step,),
    "gl203_window_left_over": (EpochEnd, RunEnd, Gone, Clear, Step),
    "gl204_gradient_never_used": (Clear,),
    "gl301_accumulation_not_normalized": (Step,),
    "gl302_window_weights_unequal": (Step,),
    "gl303_accumulation_normalized_twice": (Backward,),
    "gl401_clip_on_scaled_gradients": (Clip,),
    "gl402_step_on_scaled_gradients": (Step,),
    "gl403_scaler_not_updated": (Step, Skipped, Unscale, Update),
    "gl404_scale_changed_in_window": (Step, Unscale),
    "gl405_unscaled_twice": (Unscale,),
    "gl501_clip_without_effect": (Clip,),
    "gl502_clip_inside_window": (Clip,),
    "gl503_scheduler_before_optimizer": (Schedule,),
    "gl504_scheduler_out_of_step": (Schedule,),
    "gl601_parameter_without_optimizer": (Step,),
    "gl602_parameter_without_gradient": (RunEnd, Gone),
    "gl603_replaced_parameter": (Step,),
    "gl604_moved_without_gradient": (Step,),
    "gl605_parameter_in_two_optimizers": (Step,),
    "gl606_none_gradient_used": (Read,),
    "gl701_loss_graph_kept": (Keep,),
    "gl702_state_not_detached": (Backward, Keep),
    "gl703_graph_retained_needlessly": (Backward, RunEnd),
    "gl801_step_without_sync": (Step,),
    "gl802_sync_inside_window": (Sync,),
    "gl803_ranks_diverged": (Compare,),
    "gl901_non_finite_gradient_spent": (Step,),
    "gl902_interrupted_window_spent": (Step,),
    "gl903_low_precision_accumulation": (Step,),
}
"""The file of every rule, with the events that can break it, in the order of the codes."""

NOT_IN_SOURCE = frozenset({"GL602", "GL604", "GL605", "GL803", "GL901", "GL903"})
"""Rules that only a run sees broken: a check need not ask them."""

_FILES = {file[:5].upper(): file for file in EVENTS}
_NAMES = {code: file[6:].replace("_", "-") for code, file in _FILES.items()}
CODES = tuple(_FILES)

CATALOGUE: tuple[Rule, ...]
"""Every rule. To ask for it loads them all."""

YIELDS_TO: dict[str, frozenset[str]]
"""By the code of a rule, those that name the cause where it is only the symptom; so does this."""


def __getattr__(name: str) -> object:
    made: object
    if name == "CATALOGUE":
        made = tuple(map(coded, _FILES))
    elif name == "YIELDS_TO":
        rules = map(coded, _FILES)
        made = {rule.code: frozenset(rule.yields_to) for rule in rules if rule.yields_to}
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = made  # the next look finds it without coming here
    return made


_LONG = 100
"""Letters. No rule's name is as long."""

_loaded: dict[str, Rule] = {}


def coded(code: str) -> Rule:
    """The rule with exactly this code."""
    rule = _loaded.get(code)
    if rule is None:
        rule = _loaded[code] = import_module(f"gradledger.rules.{_FILES[code]}").RULE
    return rule


def stops(code: str) -> bool:
    """Whether an exception is raised where the rule is broken."""
    return coded(code).stops


class _Asked(dict["type[Event]", "list[Rule]"]):
    """The rules to ask at each kind of event, which are loaded when the first one comes."""

    def __init__(self, never: frozenset[str] = frozenset()) -> None:
        super().__init__()
        self._never = never

    def __missing__(self, kind: type[Event]) -> list[Rule]:
        breaking = (code for code, file in _FILES.items() if kind in EVENTS[file])
        self[kind] = [coded(code) for code in breaking if code not in self._never]
        return self[kind]


_IN_A_RUN, _IN_SOURCE = _Asked(), _Asked(never=NOT_IN_SOURCE)


def judge(page: Page, event: Event) -> Iterator[tuple[str, Breach]]:
    """Every rule that the event would break on this page, with its breaches."""
    return _broken(_IN_A_RUN[type(event)], page, event)


def judge_source(page: Page, event: Event) -> Iterator[tuple[str, Breach]]:
    """As `judge`, of the rules that can be seen broken without a run."""
    return _broken(_IN_SOURCE[type(event)], page, event)


def _broken(rules: list[Rule], page: Page, event: Event) -> Iterator[tuple[str, Breach]]:
    for rule in rules:
        for breach in rule.broken(page, event):
            yield rule.code, breach


def find(wanted: str) -> Rule:
    """The rule with this code or name, in upper or lower case; the start of a name may do."""
    if wanted in _FILES:  # as nearly all are
        return coded(wanted)
    asked = wanted.strip().lower()
    starts = []
    for code, name in _NAMES.items():
        if asked in (code.lower(), name):
            return coded(code)
        if asked and name.startswith(asked):
            starts.append(code)
    if len(starts) == 1:
        return coded(starts[0])
    if len(wanted) > _LONG:  # no misspelling, and nothing to repeat in a message
        wanted, asked = f"{wanted[:_LONG]}…", ""
    raise UnknownRuleError(f"no rule is called {wanted!r}. {_nearest(asked, starts)}")


def _nearest(asked: str, starts: list[str]) -> str:
    near = starts or _alike(asked)
    if not near:
        return "`gradledger rules` lists them all."
    listed = [f"{code} ({_NAMES[code]})" for code in near]
    return f"Did you mean {' or '.join(listed)}?"


def _alike(asked: str) -> list[str]:
    """The few rules whose code or name is nearest, by code where equally near."""
    from difflib import SequenceMatcher  # only for mistakes: it costs the start of every command

    def nearness(*known: str) -> float:
        return max(SequenceMatcher(None, asked, word).ratio() for word in known)

    scores = {code: nearness(code.lower(), name) for code, name in _NAMES.items()}
    best = max(scores.values())
    if best < 0.5:
        return []
    return [code for code, score in scores.items() if score >= best - 0.05][:4]

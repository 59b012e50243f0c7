"""The catalogue: an explicit tuple, a way to look rules up, and the judge that asks them all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gradledger.errors import UnknownRuleError
from gradledger.ledger import Breach, Page
from gradledger.ledger.events import Event
from gradledger.rules import (
    gl101_spent_gradient_reused,
    gl102_foreign_gradient_spent,
    gl201_gradient_cleared_unspent,
    gl202_step_without_gradient,
    gl203_window_left_over,
    gl204_gradient_never_used,
    gl301_accumulation_not_normalized,
    gl302_window_weights_unequal,
    gl303_accumulation_normalized_twice,
    gl401_clip_on_scaled_gradients,
    gl402_step_on_scaled_gradients,
    gl403_scaler_not_updated,
    gl404_scale_changed_in_window,
    gl405_unscaled_twice,
    gl501_clip_without_effect,
    gl502_clip_inside_window,
    gl503_scheduler_before_optimizer,
    gl504_scheduler_out_of_step,
    gl601_parameter_without_optimizer,
    gl602_parameter_without_gradient,
    gl603_replaced_parameter,
    gl604_moved_without_gradient,
    gl605_parameter_in_two_optimizers,
    gl606_none_gradient_used,
    gl701_loss_graph_kept,
    gl702_state_not_detached,
    gl703_graph_retained_needlessly,
    gl801_step_without_sync,
    gl802_sync_inside_window,
    gl803_ranks_diverged,
    gl901_non_finite_gradient_spent,
    gl902_interrupted_window_spent,
    gl903_low_precision_accumulation,
)
from gradledger.rules.rule import Rule

CATALOGUE: tuple[Rule, ...] = (
    gl101_spent_gradient_reused.RULE,
    gl102_foreign_gradient_spent.RULE,
    gl201_gradient_cleared_unspent.RULE,
    gl202_step_without_gradient.RULE,
    gl203_window_left_over.RULE,
    gl204_gradient_never_used.RULE,
    gl301_accumulation_not_normalized.RULE,
    gl302_window_weights_unequal.RULE,
    gl303_accumulation_normalized_twice.RULE,
    gl401_clip_on_scaled_gradients.RULE,
    gl402_step_on_scaled_gradients.RULE,
    gl403_scaler_not_updated.RULE,
    gl404_scale_changed_in_window.RULE,
    gl405_unscaled_twice.RULE,
    gl501_clip_without_effect.RULE,
    gl502_clip_inside_window.RULE,
    gl503_scheduler_before_optimizer.RULE,
    gl504_scheduler_out_of_step.RULE,
    gl601_parameter_without_optimizer.RULE,
    gl602_parameter_without_gradient.RULE,
    gl603_replaced_parameter.RULE,
    gl604_moved_without_gradient.RULE,
    gl605_parameter_in_two_optimizers.RULE,
    gl606_none_gradient_used.RULE,
    gl701_loss_graph_kept.RULE,
    gl702_state_not_detached.RULE,
    gl703_graph_retained_needlessly.RULE,
    gl801_step_without_sync.RULE,
    gl802_sync_inside_window.RULE,
    gl803_ranks_diverged.RULE,
    gl901_non_finite_gradient_spent.RULE,
    gl902_interrupted_window_spent.RULE,
    gl903_low_precision_accumulation.RULE,
)

YIELDS_TO = {rule.code: frozenset(rule.yields_to) for rule in CATALOGUE if rule.yields_to}

_BY_EVENT: defaultdict[type[Event], list[Rule]] = defaultdict(list)
for _rule in CATALOGUE:
    for _event_type in _rule.on:
        _BY_EVENT[_event_type].append(_rule)


def judge(page: Page, event: Event) -> Iterator[tuple[str, Breach]]:
    """Every rule that the event would break on this page, with its breaches."""
    for rule in _BY_EVENT.get(type(event), ()):
        for breach in rule.broken(page, event):
            yield rule.code, breach


def find(wanted: str) -> Rule:
    """The rule with this code or name, in upper or lower case; the start of a name may do."""
    asked = wanted.strip().lower()
    starts = []
    for rule in CATALOGUE:
        if asked in (rule.code.lower(), rule.name):
            return rule
        if asked and rule.name.startswith(asked):
            starts.append(rule)
    if len(starts) == 1:
        return starts[0]
    raise UnknownRuleError(f"no rule is called {wanted!r}. {_nearest(asked, starts)}")


def _nearest(asked: str, starts: list[Rule]) -> str:
    near = starts or _alike(asked)
    if not near:
        return "`gradledger rules` lists them all."
    listed = [f"{rule.code} ({rule.name})" for rule in near]
    return f"Did you mean {' or '.join(listed)}?"


def _alike(asked: str) -> list[Rule]:
    """The few rules whose code or name is nearest, by code where equally near."""
    from difflib import SequenceMatcher  # only for mistakes: it costs the start of every command

    def nearness(rule: Rule) -> float:
        return max(
            SequenceMatcher(None, asked, known).ratio() for known in (rule.code.lower(), rule.name)
        )

    scores = {rule.code: nearness(rule) for rule in CATALOGUE}
    best = max(scores.values())
    if best < 0.5:
        return []
    return [rule for rule in CATALOGUE if scores[rule.code] >= best - 0.05][:4]

"""Steppers whose passes are nested move together: a window's losses all saw the same nets."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import grad

from gradledger import NonFiniteGradient, Stepper
from gradledger.errors import StepperWarning
from tests.examples import examples

from .loops import Batch, Boom, assert_same, micro_batches
from .test_two_nets import DATA, ORDER, PACK, ByHand, Pair

OUTER = pytest.mark.parametrize("outer", ["d", "g"])


def steppers_of(pair: Pair, d: int, g: int, **options: Any) -> dict[str, Stepper]:
    return {
        "d": Stepper(pair.d, pair.optimizers["d"], accumulate=d, **options),
        "g": Stepper(pair.g, pair.optimizers["g"], accumulate=g, **options),
    }


def nested(steppers: dict[str, Stepper], outer: str, data: Any = DATA) -> Any:
    inner = "g" if outer == "d" else "d"
    return steppers[outer].over(steppers[inner].over(data))


def big_batches(pair: Pair, data: list[Batch], window: int, order: str) -> None:
    """Both losses of all of a window, before either net moves."""
    for start in range(0, len(data), window):
        batch = tuple(map(torch.cat, zip(*data[start : start + window], strict=True)))
        for whose in order:
            parameters = pair.optimizers[whose].param_groups[0]["params"]
            for p, gradient in zip(
                parameters, grad(pair.loss(whose, (batch[0], batch[1])), parameters), strict=True
            ):
                p.grad = gradient
        for whose in order:
            pair.optimizers[whose].step()
            pair.optimizers[whose].zero_grad()


@PACK
@OUTER
@ORDER
def test_windows_of_both_equal_the_big_batch_whose_loss_ever_comes_first(
    order: str, outer: str, pack: bool
) -> None:
    ours, theirs = Pair(), Pair()
    steppers = steppers_of(ours, 3, 3, pack=pack)
    for batch in nested(steppers, outer):
        for whose in order:
            steppers[whose].backward(ours.loss(whose, batch), items=len(batch[1]))
    big_batches(theirs, DATA, 3, order)
    ours.assert_same_as(theirs)
    assert [steppers[whose].updates for whose in "dg"] == [3, 3]


class Waiting(ByHand):
    """Spends when it is told that the micro-batch is over."""

    def deposit(self, grads: Any, items: int) -> None:
        size, self.accumulate = self.accumulate, -1
        super().deposit(grads, items)
        self.accumulate = size

    def end_of_micro_batch(self) -> None:
        if self.count == self.accumulate:
            self.spend()


@PACK
@OUTER
@ORDER
def test_windows_of_different_sizes_end_with_their_micro_batch(
    order: str, outer: str, pack: bool
) -> None:
    ours, theirs = Pair(), Pair()
    steppers = steppers_of(ours, 2, 3, pack=pack)
    hands = {"d": Waiting(theirs.optimizers["d"], 2), "g": Waiting(theirs.optimizers["g"], 3)}
    for batch in nested(steppers, outer):
        for whose in order:
            steppers[whose].backward(ours.loss(whose, batch), items=len(batch[1]))
    for batch in DATA:
        for whose in order:
            hands[whose].backward(theirs.loss(whose, batch), len(batch[1]))
        for hand in hands.values():
            hand.end_of_micro_batch()
    for hand in hands.values():
        hand.spend()
    ours.assert_same_as(theirs)
    assert [steppers[whose].updates for whose in "dg"] == [4, 3]


@OUTER
def test_a_window_of_one_moves_its_net_at_once(outer: str) -> None:
    ours, theirs = Pair(), Pair()
    steppers = steppers_of(ours, 1, 1)
    hands = {whose: ByHand(theirs.optimizers[whose], 1) for whose in "dg"}
    for batch in nested(steppers, outer):
        for whose in "dg":
            assert steppers[whose].backward(ours.loss(whose, batch), items=len(batch[1]))
    for batch in DATA:
        for whose in "dg":
            hands[whose].backward(theirs.loss(whose, batch), len(batch[1]))
    ours.assert_same_as(theirs)


def test_the_last_to_come_says_that_updates_were_made() -> None:
    pair = Pair()
    steppers = steppers_of(pair, 2, 2)
    said = []
    for batch in nested(steppers, "g", DATA[:4]):
        for whose in "dg":
            made = steppers[whose].backward(pair.loss(whose, batch), items=len(batch[1]))
            said.append((whose, made, steppers["d"].updates, steppers["g"].updates))
    assert said[2:4] == [("d", False, 0, 0), ("g", True, 1, 1)]
    assert said[6:] == [("d", False, 1, 1), ("g", True, 2, 2)]


@OUTER
def test_who_has_no_loss_in_the_last_micro_batch_keeps_nobody_waiting(outer: str) -> None:
    """The generator learns from every second batch, as in many a GAN."""
    pair = Pair()
    steppers = steppers_of(pair, 3, 3)
    seen = []
    for i, batch in enumerate(nested(steppers, outer)):
        seen.append((steppers["d"].updates, steppers["g"].updates))
        steppers["d"].backward(pair.loss("d", batch), items=len(batch[1]))
        if i % 2 == 1:
            steppers["g"].backward(pair.loss("g", batch), items=len(batch[1]))
    assert seen == [(0, 0), (0, 0), (0, 0), (1, 1), (1, 1), (1, 1), (2, 2)]
    assert (steppers["d"].updates, steppers["g"].updates) == (3, 2)  # the last has no loss of g's


@PACK
@OUTER
def test_a_fault_in_the_ones_last_turn_does_not_hold_up_the_other(outer: str, pack: bool) -> None:
    ours, theirs = Pair(), Pair()
    steppers = steppers_of(ours, 2, 2, pack=pack)
    for i, batch in enumerate(nested(steppers, outer, DATA[:4])):
        steppers["d"].backward(ours.loss("d", batch), items=len(batch[1]))
        if i != 1:
            steppers["g"].backward(ours.loss("g", batch), items=len(batch[1]))
            continue
        loss = ours.loss("g", batch)
        loss.register_hook(_boom)  # type: ignore[no-untyped-call]
        with pytest.raises(Boom):
            steppers["g"].backward(loss, items=len(batch[1]))
    hands = {whose: Waiting(theirs.optimizers[whose], 2) for whose in "dg"}
    for i, batch in enumerate(DATA[:4]):
        hands["d"].backward(theirs.loss("d", batch), len(batch[1]))
        if i != 1:
            hands["g"].backward(theirs.loss("g", batch), len(batch[1]))
        if i % 2 == 1:
            hands["d"].spend()
            hands["g"].spend()
    ours.assert_same_as(theirs)


def _boom(gradient: Tensor) -> None:
    raise Boom("in the backward")


def test_data_that_fails_ends_the_turns_of_all() -> None:
    pair = Pair()
    steppers = steppers_of(pair, 2, 2)
    batches = nested(steppers, "g", Failing(DATA))
    seen = []
    while True:
        try:
            for batch in batches:
                seen.append((steppers["d"].updates, steppers["g"].updates))
                for whose in "dg":
                    steppers[whose].backward(pair.loss(whose, batch), items=len(batch[1]))
            break
        except Boom:
            continue
    # the second draw fails, so the first window has one micro-batch
    assert seen == [(0, 0), (1, 1), (1, 1), (2, 2), (2, 2), (3, 3)]


class Failing:
    """Data whose second draw fails."""

    def __init__(self, data: list[Batch]) -> None:
        self._data = data
        self._count = 0

    def __iter__(self) -> Failing:
        return self

    def __next__(self) -> Batch:
        self._count += 1
        if self._count == 2:
            raise Boom("no data")
        if self._count > len(self._data):
            raise StopIteration
        return self._data[self._count - 1]


def test_a_window_that_raises_leaves_the_others_to_be_spent_next() -> None:
    pair = Pair()
    steppers = steppers_of(pair, 2, 2, on_nonfinite="raise")
    raised = 0
    for batch in nested(steppers, "g", DATA[:4]):
        factor = torch.inf if steppers["d"].updates + steppers["d"].skipped == 0 else 1.0
        steppers["d"].backward(pair.loss("d", batch) * factor, items=len(batch[1]))
        try:
            steppers["g"].backward(pair.loss("g", batch), items=len(batch[1]))
        except NonFiniteGradient:
            raised += 1
            assert steppers["g"].updates == 0
    assert raised == 1
    assert (steppers["d"].updates, steppers["d"].skipped) == (1, 1)
    assert (steppers["g"].updates, steppers["g"].skipped) == (2, 0)


@pytest.mark.parametrize("how", ["flush", "over"])
def test_after_a_break_a_full_window_that_waits_is_spent(how: str) -> None:
    pair = Pair()
    steppers = steppers_of(pair, 2, 2)
    for i, batch in enumerate(nested(steppers, "g")):
        steppers["d"].backward(pair.loss("d", batch), items=len(batch[1]))
        if i == 1:
            break
        steppers["g"].backward(pair.loss("g", batch), items=len(batch[1]))
    assert steppers["d"].updates == 0
    if how == "flush":
        assert steppers["d"].flush()
    else:
        steppers["d"].over(DATA)
    assert steppers["d"].updates == 1


def test_who_begins_a_pass_of_its_own_has_left_the_company() -> None:
    pair = Pair()
    steppers = steppers_of(pair, 2, 2)
    for batch in nested(steppers, "g", DATA[:2]):
        for whose in "dg":
            steppers[whose].backward(pair.loss(whose, batch), items=len(batch[1]))
    for batch in steppers["g"].over(DATA[:2]):  # and is at work in it
        for other in DATA[:2]:
            steppers["d"].backward(pair.loss("d", other), items=len(other[1]))
        steppers["g"].backward(pair.loss("g", batch), items=len(batch[1]))
    assert (steppers["d"].updates, steppers["g"].updates) == (3, 2)


@OUTER
@pytest.mark.parametrize("on_fault", ["continue", "drop"])
def test_saved_while_one_waits_for_the_other_goes_on_bit_for_bit(
    outer: str, on_fault: str, tmp_path: Path
) -> None:
    """Saved at the end of each turn, also of those in which the generator had no loss."""
    whole = train(Pair(), outer, on_fault, saved=lambda n: tmp_path / f"{n}.pt")
    for n in range(len(DATA)):
        resumed = Pair()
        # Anew for each: what is loaded goes on to be used.
        states = torch.load(tmp_path / f"{n}.pt", weights_only=True)
        train(resumed, outer, on_fault, states=states, begin=n + 1)
        assert_same(state_of(resumed), state_of(whole), exact=True)


def state_of(pair: Pair) -> dict[str, Any]:
    nets = {"d": pair.d.state_dict(), "g": pair.g.state_dict()}
    return nets | {f"{k} optimizer": o.state_dict() for k, o in pair.optimizers.items()}


def train(
    pair: Pair,
    outer: str,
    on_fault: str,
    *,
    saved: Callable[[int], Path] | None = None,
    states: dict[str, Any] | None = None,
    begin: int = 0,
) -> Pair:
    steppers = steppers_of(pair, 2, 3, on_fault=on_fault)
    if states is not None:
        pair.d.load_state_dict(states["d"])
        pair.g.load_state_dict(states["g"])
        for whose in "dg":
            pair.optimizers[whose].load_state_dict(states[f"{whose} optimizer"])
            steppers[whose].load_state_dict(states[f"{whose} stepper"])
    for i, batch in enumerate(nested(steppers, outer), begin):
        # the one that reads the data has a loss in every turn
        for whose in "dg" if i % 2 == 1 else ("d" if outer == "g" else "g"):
            steppers[whose].backward(pair.loss(whose, batch), items=len(batch[1]))
        if saved is not None:
            kept = {f"{whose} stepper": steppers[whose].state_dict() for whose in "dg"}
            torch.save(state_of(pair) | kept, saved(i))
    return pair


def test_a_stepper_that_is_gone_keeps_nobody_waiting_and_leaves_its_optimizer_free() -> None:
    pair = Pair()
    steppers = steppers_of(pair, 2, 2)
    for i, batch in enumerate(nested(steppers, "g")):
        if i == 1:
            del steppers["g"]
            break
        for whose in "dg":
            steppers[whose].backward(pair.loss(whose, batch), items=len(batch[1]))
    gc.collect()  # a Stepper and its pass know each other
    pair.optimizers["g"].zero_grad()  # in the middle of the window that was
    assert steppers["d"].backward(pair.loss("d", DATA[1]), items=1)


turns = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from(["dg", "gd", "d", "g", ""]), st.booleans()),
    min_size=1,
    max_size=9,
)
"""Of each micro-batch: its rows, whose losses come in which order, and whether the last fails."""


@examples(100)
@given(
    turns=turns,
    sizes=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    outer=st.sampled_from("dg"),
    on_fault=st.sampled_from(["continue", "drop"]),
)
def test_whatever_the_turns_each_window_ends_with_its_micro_batch_or_at_once(
    turns: list[tuple[int, str, bool]], sizes: tuple[int, int], outer: str, on_fault: str
) -> None:
    ours, theirs = Pair(), Pair()
    data = micro_batches(*(rows for rows, _, _ in turns))
    steppers = steppers_of(ours, *sizes, on_fault=on_fault)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StepperWarning)  # one that never had a loss
        for batch, (_, order, fails) in zip(nested(steppers, outer, data), turns, strict=True):
            for whose in order:
                loss = ours.loss(whose, batch)
                if fails and whose == order[-1]:
                    loss.register_hook(_boom)  # type: ignore[no-untyped-call]
                    with suppress(Boom):  # in a window that is dropped, it does not come to that
                        steppers[whose].backward(loss, items=len(batch[1]))
                else:
                    steppers[whose].backward(loss, items=len(batch[1]))
        assert next(nested(steppers, outer, []), None) is None
    by_hand(theirs, data, turns, dict(zip("dg", sizes, strict=True)), drop=on_fault == "drop")
    ours.assert_same_as(theirs)


def by_hand(
    pair: Pair,
    data: list[Batch],
    turns: list[tuple[int, str, bool]],
    sizes: dict[str, int],
    *,
    drop: bool,
) -> None:
    """Windows are made by position; one of several micro-batches is spent behind its last."""
    hands = {whose: Waiting(pair.optimizers[whose], -1) for whose in "dg"}
    spoilt = dict.fromkeys("dg", False)

    def spend(whose: str) -> None:
        if spoilt[whose]:
            hands[whose].clear()
        hands[whose].spend()
        spoilt[whose] = False

    for i, (batch, (_, order, fails)) in enumerate(zip(data, turns, strict=True)):
        had = order[:-1] if fails else order
        for whose in had:
            hands[whose].backward(pair.loss(whose, batch), len(batch[1]))
            if sizes[whose] == 1:
                spend(whose)
        for whose in "dg":
            spoilt[whose] |= drop and whose not in had
            if (i + 1) % sizes[whose] == 0 or i + 1 == len(data):
                spend(whose)


def test_three_nets_wait_for_each_other() -> None:
    nets = [torch.nn.Linear(5, 3).double() for _ in range(3)]
    steppers = [Stepper(net, torch.optim.SGD(net.parameters(), 0.1), accumulate=2) for net in nets]
    first, second, third = steppers
    seen = []
    for x, _ in first.over(second.over(third.over(micro_batches(2, 2, 2, 2)))):
        for which in (1, 2, 0):
            seen.append([stepper.updates for stepper in steppers])
            steppers[which].backward(nets[which](x).square().mean(), items=2)
    assert seen == [[0, 0, 0]] * 6 + [[1, 1, 1]] * 6

"""Correct code that looks wrong, and faults that look like several: what exactly is reported.

Each story is a list of events, the way a front end would tell it; `at(5)` is line 5.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from gradledger.ledger import Book, Place
from gradledger.ledger.events import (
    BY_HAND,
    Backward,
    Batch,
    Clear,
    Clip,
    Compare,
    Declare,
    Edit,
    EpochEnd,
    Event,
    Fault,
    Gone,
    Keep,
    Own,
    Read,
    Release,
    Replace,
    RunEnd,
    Schedule,
    Skipped,
    Step,
    Sync,
    Traits,
    Unscale,
    Update,
    Weight,
)
from gradledger.rules import YIELDS_TO, judge


def at(line: int) -> Place:
    return Place("train.py", line)


W = frozenset({"weight", "bias"})
G, D, X = frozenset({"g"}), frozenset({"d"}), frozenset({"x"})
ONE = [Declare(at(1), W), Own(at(1), "opt", W)]
TWO = [Declare(at(1), G | D), Own(at(1), "G", G), Own(at(2), "D", D)]
MEAN, QUARTER = Weight("mean", 1, 8), Weight("mean", 4, 8)
END = RunEnd(at(99))


def found(*events: Event | Iterable[Event]) -> set[str]:
    """What the book finds, as `GL101:5`."""
    book = Book(judge, yields_to=YIELDS_TO)
    for event in events:
        for single in [event] if isinstance(event, Event) else event:
            book.post(single)
    return {f"{f.rule}:{f.at.line}" for f in book.findings}


def window(n: int, weight: Weight = QUARTER) -> list[Event]:
    """n micro-batches from one call site."""
    return [event for _ in range(n) for event in (Batch(at(10)), Backward(at(11), W, weight))]


SPEND: list[Event] = [Step(at(12), "opt"), Clear(at(13), W)]


# Law 1 ---------------------------------------------------------------------------------------


def test_accumulation_on_purpose_breaks_no_law() -> None:
    assert found(ONE, [*window(4), *SPEND] * 3, END) == set()


def test_a_missing_clear_is_found_at_the_step_and_counted() -> None:
    book = Book(judge)
    for event in [*ONE, *[Backward(at(3), W), Step(at(4), "opt")] * 10]:
        book.post(event)
    (finding,) = book.findings
    assert (finding.rule, finding.at, finding.count) == ("GL101", at(4), 9)
    assert finding.cells == W
    assert [(e.what, e.at) for e in finding.evidence] == [
        ("deposited", at(3)),
        ("spent", at(4)),
        ("cleared", None),
    ]


def test_sgd_by_hand_without_any_optimizer_breaks_no_law() -> None:
    loop = [Backward(at(3), W), Step(at(4), BY_HAND, cells=W), Clear(at(5), W, to_none=False)]
    assert found(Declare(at(1), W), loop * 3, END) == set()


def test_sgd_by_hand_that_never_clears_is_found() -> None:
    loop = [Backward(at(3), W), Step(at(4), BY_HAND, cells=W)]
    assert found(Declare(at(1), W), loop * 3) == {"GL101:4"}


def test_each_evaluation_of_an_lbfgs_closure_is_a_spend() -> None:
    evaluation = [Clear(at(5), W), Backward(at(6), W), Step(at(8), "opt")]
    assert found(ONE, evaluation * 20, END) == set()
    assert found(ONE, evaluation[1:] * 2) == {"GL101:8"}


def test_the_two_steps_of_sam_break_no_law() -> None:
    batch = [
        *[Backward(at(4), W), Step(at(5), "opt"), Clear(at(5), W)],
        *[Backward(at(6), W), Step(at(7), "opt"), Clear(at(7), W)],
    ]
    assert found(ONE, batch * 3, END) == set()


def test_gradients_that_are_decayed_by_hand_instead_of_cleared_are_meant() -> None:
    loop = [Backward(at(4), W), Step(at(5), "opt"), Edit(at(6), W, "scale", 0.9)]
    assert found(ONE, loop * 3) == set()


def test_a_discriminator_cleared_after_its_step_gets_the_generators_loss() -> None:
    loop = [
        *[Clear(at(4), G), Backward(at(5), G | D), Step(at(6), "G")],
        *[Backward(at(7), D), Step(at(8), "D"), Clear(at(9), D)],
    ]
    assert found(TWO, loop * 3) == {"GL102:8"}


def test_a_discriminator_cleared_at_its_own_turn_is_only_wasteful() -> None:
    loop = [
        *[Clear(at(4), G), Backward(at(5), G | D), Step(at(6), "G")],
        *[Clear(at(7), D), Backward(at(8), D), Step(at(9), "D")],
    ]
    assert found(TWO, loop * 3) == {"GL204:7"}


def test_two_optimizers_that_share_one_backward_break_no_law() -> None:
    loop = [Clear(at(4), G | D), Backward(at(5), G | D), Step(at(6), "G"), Step(at(7), "D")]
    assert found(TWO, loop * 3, END) == set()


def test_a_joint_loss_for_two_nets_may_lie_below_another_of_both() -> None:
    loop = [
        *[Batch(at(3)), Clear(at(4), G), Clear(at(5), D), Backward(at(6), G | D), Step(at(7), "G")],
        *[Backward(at(8), G | D), Step(at(9), "D")],
    ]
    assert "GL102:9" not in found(TWO, loop * 3, END)
    at_the_end = [loop[0], *loop[3:], *loop[1:3]]
    assert "GL102:9" not in found(TWO, at_the_end * 3, END)


def test_a_loss_of_the_second_net_alone_on_top_is_a_leak_also_where_both_were_cleared() -> None:
    loop = [
        *[Batch(at(3)), Clear(at(4), G), Clear(at(5), D), Backward(at(6), G | D), Step(at(7), "G")],
        *[Backward(at(8), D), Step(at(9), "D")],
    ]
    assert found(TWO, loop * 3, END) == {"GL102:9"}


def test_what_two_nets_cleared_in_different_turns_get_is_no_joint_loss() -> None:
    loop = [
        *[Batch(at(3)), Backward(at(4), G | D), Step(at(5), "G"), Clear(at(6), G)],
        *[Backward(at(7), D), Step(at(8), "D"), Clear(at(9), D)],
    ]
    assert found(TWO, loop * 3) == {"GL102:8"}


def test_the_leak_is_told_where_it_is_spent_and_not_where_it_comes_from() -> None:
    first = [Batch(at(3)), Backward(at(4), D), Backward(at(7), G | D)]
    last = [
        *[Batch(at(3)), Backward(at(4), D), Step(at(5), "D"), Clear(at(6), D)],
        *[Backward(at(7), G | D), Step(at(8), "G"), Clear(at(9), G)],
    ]
    assert found(TWO, [*first, *last] * 3) == {"GL102:5"}


def test_tasks_that_share_an_encoder_break_no_law() -> None:
    encoder, a, b = frozenset({"enc"}), frozenset({"a"}), frozenset({"b"})
    owners = [Own(at(1), "E", encoder), Own(at(2), "A", a), Own(at(3), "B", b)]
    loop = [
        *[Backward(at(5), encoder | a), Backward(at(6), encoder | b)],
        *[Step(at(7), "B"), Step(at(8), "E"), Step(at(9), "A"), Clear(at(10), encoder | a | b)],
    ]
    assert found(owners, loop * 3, END) == set()


def test_tasks_trained_in_turn_may_share_an_encoder_that_steps_last() -> None:
    encoder, a, b = frozenset({"enc"}), frozenset({"a"}), frozenset({"b"})
    owners = [Own(at(1), "E", encoder), Own(at(2), "A", a), Own(at(3), "B", b)]
    loop = [
        *[Backward(at(5), encoder | a), Step(at(6), "A")],
        *[Backward(at(7), encoder | b), Step(at(8), "B")],
        *[Step(at(9), "E"), Clear(at(10), encoder | a | b)],
    ]
    assert found(owners, loop * 3, END) == set()


def test_a_gradient_that_leaked_is_found_also_where_code_looked_at_it() -> None:
    loop = [
        *[Clear(at(4), G), Backward(at(5), G | D), Step(at(6), "G"), Read(at(7), D)],
        *[Backward(at(8), D), Step(at(9), "D"), Clear(at(10), D)],
    ]
    assert found(TWO, loop * 2) == {"GL102:9"}


# Law 2 ---------------------------------------------------------------------------------------


def test_clearing_between_backward_and_step_is_one_fault_not_two() -> None:
    loop = [Backward(at(4), W), Clear(at(5), W), Step(at(6), "opt")]
    assert found(ONE, loop * 3) == {"GL201:5"}


def test_clearing_in_each_micro_batch_is_found_at_the_clear() -> None:
    micro = [Batch(at(3)), Clear(at(4), W), Backward(at(5), W, QUARTER)]
    assert found(ONE, [*micro * 4, Step(at(6), "opt")] * 2) == {"GL201:4"}


@pytest.mark.parametrize(
    "between",
    [
        pytest.param([Skipped(at(5), "opt", "scaler")], id="the scaler skipped the step"),
        pytest.param([Fault(at(5))], id="an exception was caught"),
        pytest.param([Read(at(5), W)], id="code read the gradients"),
        pytest.param([Edit(at(5), W, "change")], id="code worked on the gradients"),
    ],
)
def test_clearing_unspent_is_right_when(between: list[Event]) -> None:
    loop = [Backward(at(4), W, scaler="scaler"), *between, Clear(at(6), W)]
    assert found(ONE, loop, Backward(at(4), W), Step(at(7), "opt")) == set()


def test_clearing_behind_a_guard_against_nan_is_right() -> None:
    loop = [Backward(at(4), W, non_finite=frozenset({"bias"})), Clip(at(5), W), Clear(at(6), W)]
    assert found(ONE, loop) == set()


def test_an_attack_that_reads_the_inputs_gradient_may_clear_the_models() -> None:
    attack = [Backward(at(4), W | X), Read(at(5), X), Clear(at(6), W), Clear(at(7), X)]
    train = [Backward(at(8), W), Step(at(9), "opt"), Clear(at(10), W)]
    assert found(ONE, [*attack, *train] * 3, END) == set()


def test_clearing_one_layer_before_the_step_is_no_loss() -> None:
    loop = [Backward(at(4), W), Clear(at(5), frozenset({"bias"})), Step(at(6), "opt")]
    assert found(ONE, [*loop, Clear(at(7), W)] * 3, END) == set()


def test_leaves_without_an_owner_may_be_cleared_at_will() -> None:
    assert found(ONE, [Backward(at(4), X), Clear(at(5), X, to_none=False)] * 3, END) == set()


def test_a_leaf_that_still_holds_its_part_is_no_excuse_for_clearing_the_model() -> None:
    assert found(ONE, Backward(at(4), W | X), Clear(at(5), W)) == {"GL201:5"}


def test_what_others_hold_of_another_backward_is_no_excuse_either() -> None:
    assert found(TWO, Backward(at(3), D), Backward(at(4), G), Clear(at(5), G)) == {"GL201:5"}


def test_the_part_that_another_optimizer_will_spend_is_not_lost() -> None:
    loop = [Backward(at(4), G | D), Clear(at(5), D), Step(at(6), "G"), Clear(at(7), G)]
    assert found(TWO, loop) == set()
    assert found(TWO, loop * 2) == {"GL204:5"}


def test_a_gradient_put_there_by_hand_may_be_cleared() -> None:
    assert found(ONE, Edit(at(4), W, "assign"), Clear(at(5), W)) == set()


def test_a_gradient_that_is_used_now_and_then_is_not_always_wasted() -> None:
    generator = [Backward(at(4), G | D), Step(at(5), "G"), Clear(at(6), G)]
    both = [*generator, Step(at(7), "D"), Clear(at(8), D)]
    assert found(TWO, both, [*generator, Clear(at(8), D)] * 3) == set()


def test_one_time_is_not_always() -> None:
    generator = [Backward(at(4), G | D), Step(at(5), "G"), Clear(at(6), G)]
    assert found(TWO, generator, Clear(at(7), D)) == set()


def test_what_nobody_uses_is_lost_and_not_wasted() -> None:
    assert found(TWO, [Backward(at(4), G | D), Clear(at(5), D), Clear(at(6), G)] * 3) == {"GL201:6"}


def test_the_gradient_of_an_input_is_nobodys_to_spend() -> None:
    loop = [Backward(at(4), W | X), Step(at(5), "opt"), Clear(at(6), W), Clear(at(7), X)]
    assert found(ONE, loop * 3, END) == set()


def test_a_gradient_that_is_read_from_some_time_on_is_no_longer_wasted() -> None:
    generator = [Backward(at(4), G | D), Step(at(5), "G"), Clear(at(6), G)]
    clear = Clear(at(8), D)
    assert found(TWO, generator, clear, [*generator, Read(at(7), D), clear] * 2) == set()


def test_a_gradient_that_is_only_read_is_not_wasted() -> None:
    loop = [Backward(at(4), G | D), Step(at(5), "G"), Clear(at(6), G), Read(at(7), D)]
    assert found(TWO, [*loop, Clear(at(8), D)] * 3) == set()


def test_a_step_of_an_optimizer_that_the_book_does_not_know_is_not_judged() -> None:
    assert found(ONE, Step(at(4), "unknown")) == set()


def test_a_step_before_the_first_backward_finds_nothing() -> None:
    assert found(ONE, Step(at(4), "opt")) == {"GL202:4"}


def test_a_counter_that_starts_again_leaves_a_window_over() -> None:
    epoch = [*window(4), *SPEND, *window(2), EpochEnd(at(20), restarts=True)]
    assert found(ONE, epoch) == {"GL203:11"}


@pytest.mark.parametrize("known", [False, None])
def test_windows_that_straddle_epochs_break_no_law(known: bool | None) -> None:
    first = [*window(4), *SPEND, *window(2), EpochEnd(at(20), restarts=known)]
    second = [*window(2), *SPEND, EpochEnd(at(20), restarts=known)]
    assert found(ONE, first, second, END) == set()


def test_a_window_larger_than_usual_shows_that_the_last_epoch_leaked_into_it() -> None:
    first = [*window(4), *SPEND, *window(2), EpochEnd(at(20))]
    assert found(ONE, first, window(4), SPEND, END) == {"GL203:11"}


def test_a_tail_that_the_next_epoch_clears_is_left_over_and_not_cleared_unspent() -> None:
    first = [Clear(at(9), W), *window(4), *SPEND, *window(2), EpochEnd(at(20))]
    assert found(ONE, first, Clear(at(9), W), window(4), SPEND) == {"GL203:11"}


def test_what_an_epoch_leaves_in_cells_that_nobody_will_spend_is_no_window() -> None:
    end = EpochEnd(at(20), restarts=True)
    wasted = [Backward(at(4), G | D), Step(at(5), "G"), Clear(at(6), G)]
    assert found(TWO, wasted, end) == set()
    assert found(ONE, Backward(at(4), W), Skipped(at(5), "opt"), end) == set()
    assert found(ONE, Backward(at(4), X), end) == set()
    assert found(ONE, Backward(at(4), X), EpochEnd(at(20)), Clear(at(5), X)) == set()


def test_what_is_used_after_the_epoch_is_not_left_over() -> None:
    both = [Backward(at(4), G | D), EpochEnd(at(20))]
    assert found(TWO, both, Step(at(5), "G"), Clear(at(6), D)) == set()
    assert found(TWO, both, Read(at(5), D), Clear(at(6), G | D)) == set()


def test_a_leak_of_unequal_batches_is_one_fault() -> None:
    first = [*window(4), *SPEND, *window(1, Weight("mean", 4, 3)), EpochEnd(at(20))]
    assert found(ONE, first, window(4), SPEND) == {"GL203:11"}


def test_windows_of_changing_size_within_an_epoch_are_not_left_over() -> None:
    assert (
        found(ONE, window(2, Weight()), SPEND, EpochEnd(at(20)), window(4, Weight()), SPEND)
        == set()
    )


def test_a_window_of_several_losses_over_an_epochs_end_is_not_measured_by_its_size() -> None:
    other = [Batch(at(10)), Backward(at(14), W)]
    first = [*window(1), *SPEND, *window(1), EpochEnd(at(20))]
    assert found(ONE, first, other, SPEND) == set()


def test_a_step_after_each_epoch_breaks_no_law() -> None:
    epoch = [*window(4), EpochEnd(at(20)), *SPEND]
    assert found(ONE, epoch * 3, END) == set()


def test_a_tail_at_the_end_of_the_run_is_left_over_but_not_after_a_crash() -> None:
    run = [*ONE, *window(4), *SPEND, *window(2)]
    assert found(run, END) == {"GL203:11"}
    assert found(run, RunEnd(at(99), crashed=True)) == set()


def test_a_last_backward_to_look_at_gradients_is_no_window() -> None:
    assert found(ONE, window(4), SPEND, Backward(at(30), W), END) == set()


# Law 3 ---------------------------------------------------------------------------------------


def test_means_that_nobody_divides_are_found_at_the_backward() -> None:
    assert found(ONE, window(4, MEAN), SPEND) == {"GL301:11"}


def test_gradients_divided_by_hand_are_as_good_as_losses_divided() -> None:
    assert found(ONE, window(4, MEAN), Edit(at(12), W, "scale", 0.25), SPEND) == set()
    assert found(ONE, window(4, MEAN), Edit(at(12), W, "scale", 0.5), SPEND) == {"GL301:11"}


def test_gradients_divided_by_their_norm_have_no_weight_to_judge() -> None:
    assert found(ONE, window(4, MEAN), Edit(at(12), W, "scale", 1 / 1.7), SPEND) == set()


def test_an_update_by_hand_may_divide_in_its_own_line() -> None:
    by_hand = [Step(at(12), BY_HAND, W), Clear(at(13), W)]
    assert found(window(4, MEAN), by_hand, window(4, MEAN), by_hand) == set()


def test_several_losses_with_a_backward_each_are_a_sum_by_design() -> None:
    losses = [Batch(at(4)), Backward(at(5), W, MEAN), Backward(at(6), W, MEAN)]
    assert found(ONE, [*losses, *SPEND] * 3, END) == set()


def test_a_loop_over_tasks_within_one_batch_is_a_sum_by_design() -> None:
    batch = [Batch(at(4)), *[Backward(at(5), W, MEAN)] * 3]
    assert found(ONE, [*batch, *SPEND] * 3, END) == set()


def test_a_weight_of_one_half_on_a_plain_loss_is_no_window_of_two() -> None:
    batch = [Batch(at(4)), Backward(at(5), W, Weight("mean", 2, 8))]
    assert found(ONE, [*batch, *SPEND] * 3, END) == set()


def test_sums_and_unknown_weights_are_never_called_unnormalized() -> None:
    for weight in (Weight("sum", 1, 8), Weight(), Weight("mean", "n"), Weight("mean", None)):
        assert found(ONE, window(4, weight), SPEND) == set()


def test_a_shorter_last_window_divided_by_the_full_size_weighs_too_little() -> None:
    assert found(ONE, window(4), SPEND, window(2), SPEND) == {"GL302:11"}
    assert found(ONE, window(4), SPEND, window(2, Weight("mean", 2, 8)), SPEND) == set()


def test_short_windows_in_a_row_are_each_short() -> None:
    book = Book(judge, yields_to=YIELDS_TO)
    for event in [*ONE, *(e for n in (4, 4, 3, 1, 1, 4, 2) for e in (*window(n), *SPEND))]:
        book.post(event)
    (finding,) = book.findings
    assert (finding.rule, finding.count) == ("GL302", 4)


def test_a_state_that_one_pass_walks_in_pieces_was_walked_once() -> None:
    walk = Backward(at(11), W, walks=frozenset({at(5)}))
    rest = Backward(at(11), W, walks=frozenset({at(5)}), continues=True)
    kept = [*ONE, Keep(at(5), "state")]
    assert found(kept, walk, rest, rest) == set()
    assert found(kept, walk, walk) == {"GL702:5"}


def test_means_over_unequal_batches_do_not_weigh_what_they_should() -> None:
    uneven = [*window(3), *window(1, Weight("mean", 4, 2))]
    assert found(ONE, uneven, SPEND) == {"GL302:11"}


def test_a_sum_divided_by_its_items_may_be_divided_by_the_window_where_these_are_as_many() -> None:
    summed = Weight("mean", 1, 4, summed=True)
    assert found(ONE, window(4, summed), SPEND) == set()
    assert found(ONE, window(3, summed), SPEND) == {"GL301:11"}
    assert found(ONE, window(4, Weight("mean", 1, 4)), SPEND) == {"GL301:11"}


def test_unequal_batches_that_are_weighed_by_their_size_are_right() -> None:
    weighed = [*window(1, Weight("mean", 8 / 6, 6)), *window(1, Weight("mean", 8 / 2, 2))]
    assert found(ONE, weighed, SPEND) == set()
    assert found(ONE, window(4), SPEND, weighed, SPEND) == set()  # and none is short of anything


def test_a_window_spent_by_hand_has_no_usual_size() -> None:
    spend = [Step(at(12), BY_HAND, cells=W), Clear(at(13), W)]
    assert found(Declare(at(1), W), window(4), spend, window(2), spend) == set()


def test_what_the_framework_divides_is_divided() -> None:
    theirs = Weight("mean", 1, 8, framework_divides=True)
    assert found(ONE, window(4, theirs), SPEND) == set()
    twice = Weight("mean", "n", framework_divides=True, divided_at=at(10))
    assert found(ONE, window(4, twice), SPEND) == {"GL303:10"}
    unplaced = Weight("mean", "n", framework_divides=True)
    assert found(ONE, window(4, unplaced), SPEND) == {"GL303:11"}


# Law 4 ---------------------------------------------------------------------------------------

SCALED = Backward(at(4), W, scaler="scaler")


def test_the_full_order_of_mixed_precision_breaks_no_law() -> None:
    loop = [
        *[SCALED, Unscale(at(5), "opt", "scaler"), Clip(at(6), W)],
        *[Step(at(7), "opt", scaler="scaler"), Update(at(8), "scaler"), Clear(at(9), W)],
    ]
    assert found(ONE, loop * 3, END) == set()


def test_unscaling_and_then_a_plain_step_breaks_no_law() -> None:
    unscaled = [SCALED, Unscale(at(5), "opt", "scaler"), Step(at(7), "opt")]
    assert found(ONE, [*unscaled, Update(at(8), "scaler"), Clear(at(9), W)] * 3) == set()


def test_a_clip_on_scaled_gradients_before_a_plain_step_is_one_fault() -> None:
    assert found(ONE, SCALED, Clip(at(6), W), Step(at(7), "opt")) == {"GL402:7"}


def test_reading_the_norm_of_scaled_gradients_is_found_too() -> None:
    read = Clip(at(6), W, changes=False)
    assert found(ONE, SCALED, read, Step(at(7), "opt", scaler="scaler")) == {"GL401:6"}


def test_a_step_without_update_is_found_at_the_step_whatever_torch_refuses_first() -> None:
    step, refused = (
        Step(at(7), "opt", scaler="scaler"),
        Skipped(at(7), "opt", "scaler", reason="refused"),
    )
    assert found(ONE, SCALED, step, Clear(at(8), W), SCALED, refused) == {"GL403:7"}
    unscale = Unscale(at(5), "opt", "scaler")
    assert found(ONE, SCALED, unscale, step, Clear(at(8), W), SCALED, unscale) == {"GL403:7"}


def test_unscaling_twice_is_found_at_the_second_call() -> None:
    first, second = Unscale(at(5), "opt", "scaler"), Unscale(at(6), "opt", "scaler")
    assert found(ONE, SCALED, first, second) == {"GL405:6"}
    assert found(
        TWO, Backward(at(4), G | D), Unscale(at(5), "G", "s"), Unscale(at(6), "D", "s")
    ) == (set())


def test_each_scaler_unscales_and_updates_only_its_own() -> None:
    other = [Unscale(at(5), "opt", "other"), Clip(at(6), W)]
    assert found(ONE, SCALED, other) == {"GL401:6"}
    update = Update(at(5), "other")
    assert found(ONE, SCALED, update, Step(at(7), "opt", scaler="scaler")) == set()


def test_an_update_after_both_optimizers_are_unscaled_changes_nothing_for_them() -> None:
    both = Backward(at(4), G | D, scaler="scaler")
    unscaled = [Unscale(at(5), "G", "scaler"), Unscale(at(6), "D", "scaler")]
    steps = [Step(at(7), "G", scaler="scaler"), Update(at(8), "scaler"), Step(at(9), "D")]
    assert found(TWO, both, unscaled, steps) == set()


def test_losses_of_two_scalers_have_two_scales() -> None:
    other = Backward(at(5), W, scaler="other")
    assert found(ONE, SCALED, other, Step(at(7), "opt", scaler="scaler")) == {"GL404:5"}


def test_one_update_for_two_optimizers_is_right_and_one_between_them_is_not() -> None:
    both = Backward(at(4), G | D, scaler="scaler")
    first, second = Step(at(5), "G", scaler="scaler"), Step(at(6), "D", scaler="scaler")
    update = Update(at(7), "scaler")
    assert found(TWO, both, first, second, update) == set()
    assert found(TWO, both, first, update, second) == {"GL404:7"}


def test_a_wasted_gradient_may_stay_scaled_over_an_update() -> None:
    loop = [
        *[Backward(at(4), G | D, scaler="scaler"), Step(at(5), "G", scaler="scaler")],
        *[Update(at(6), "scaler"), Clear(at(7), G | D)],
        *[Backward(at(8), D, scaler="scaler"), Step(at(9), "D", scaler="scaler")],
        *[Update(at(10), "scaler"), Clear(at(11), D)],
    ]
    assert {code for code in found(TWO, loop * 3) if not code.startswith("GL204")} == set()


def test_scaled_and_plain_losses_in_one_window_are_found_at_the_odd_one() -> None:
    step = Step(at(7), "opt", scaler="scaler")
    assert found(ONE, SCALED, Backward(at(5), W), step) == {"GL404:5"}
    unscale = Unscale(at(6), "opt", "scaler")
    assert found(ONE, SCALED, Backward(at(5), W), unscale, step) == {"GL404:5"}
    assert found(ONE, SCALED, unscale, Backward(at(7), W), step) == set()


def test_unscaling_in_the_middle_of_a_window_is_found_there() -> None:
    step = Step(at(7), "opt", scaler="scaler")
    assert found(ONE, SCALED, Unscale(at(5), "opt", "scaler"), SCALED, step) == {"GL404:5"}


def test_unscaling_after_each_micro_batch_divides_the_first_ones_again() -> None:
    unscale, update = Unscale(at(5), "opt", "scaler"), Update(at(6), "scaler")
    step = Step(at(7), "opt", scaler="scaler")
    assert found(ONE, SCALED, unscale, update, SCALED, unscale, step) == {"GL404:5"}
    # What an overflow left behind is no part of the next window.
    skipped = Skipped(at(7), "opt", "scaler")
    assert found(ONE, SCALED, unscale, skipped, update, SCALED, unscale) == set()


# Law 5 ---------------------------------------------------------------------------------------


def test_a_clip_after_a_fault_is_of_another_window_than_the_clip_before_it() -> None:
    clipped = [Backward(at(4), W), Clip(at(5), W)]
    assert found(ONE, clipped, Fault(at(6)), clipped) == set()
    assert found(ONE, clipped, clipped) == {"GL502:5"}


def test_a_clip_after_the_step_or_before_the_backward_has_no_effect() -> None:
    backward, clip, step, clear = Backward(at(4), W), Clip(at(5), W), SPEND[0], SPEND[1]
    assert found(ONE, backward, step, clip, clear) == {"GL501:5"}
    assert found(ONE, clip, backward, step, clear) == {"GL501:5"}
    # What the clip lacks was thrown away a moment before: that is the fault.
    assert "GL501:5" not in found(ONE, backward, clear, clip, step)
    assert found(ONE, backward, clip, step, clear) == set()


def test_clipping_what_the_book_does_not_know_is_not_judged() -> None:
    assert found(ONE, Clip(at(5), frozenset({"unknown"}))) == set()


def test_clipping_by_value_and_then_by_norm_breaks_no_law() -> None:
    loop = [Backward(at(4), W), Clip(at(5), W), Clip(at(6), W), *SPEND]
    assert found(ONE, loop * 2) == set()


def test_a_norm_that_is_only_read_after_the_step_breaks_no_law() -> None:
    assert found(ONE, Backward(at(4), W), SPEND[0], Clip(at(5), W, changes=False)) == set()


def test_clipping_each_micro_batch_is_found_at_the_clip() -> None:
    micro = [Batch(at(3)), Backward(at(4), W, QUARTER), Clip(at(5), W)]
    assert found(ONE, micro * 4, SPEND) == {"GL502:5"}


def test_a_scheduler_per_epoch_breaks_no_law_even_in_an_open_window() -> None:
    schedule = Schedule(at(21), "cosine", "opt")
    epoch = [*window(4), *SPEND, *window(2), EpochEnd(at(20), restarts=False), schedule]
    assert found(ONE, epoch, window(2), SPEND, window(4), SPEND, schedule) == set()


def test_a_scheduler_per_micro_batch_is_out_of_step_and_not_also_too_early() -> None:
    micro = [Batch(at(3)), Backward(at(4), W, Weight("mean", 2, 8)), Schedule(at(5), "lr", "opt")]
    last = [micro[0], micro[1], *SPEND, micro[2]]
    assert found(ONE, [*micro, *last] * 3) == {"GL504:5"}


def test_a_scheduler_before_the_first_step_is_too_early() -> None:
    assert found(ONE, Schedule(at(3), "lr", "opt"), Backward(at(4), W), SPEND) == {"GL503:3"}


def test_a_scheduler_after_a_skipped_step_is_out_of_step_even_when_cleared_first() -> None:
    skipped = Skipped(at(6), "opt", "scaler")
    events = [SCALED, skipped, Update(at(7), "scaler"), Clear(at(8), W)]
    assert found(ONE, events, Schedule(at(9), "lr", "opt")) == {"GL504:9"}


def test_a_scheduler_per_epoch_may_follow_a_last_step_that_was_skipped() -> None:
    skipped = [SCALED, Skipped(at(6), "opt", "scaler"), Update(at(7), "scaler"), Clear(at(8), W)]
    train = [Backward(at(4), W), Step(at(6), "opt"), Clear(at(8), W)]
    epoch = [*train, *train, *skipped, Schedule(at(9), "cosine", "opt")]
    assert found(ONE, epoch * 3) == set()


def test_a_scheduler_per_step_that_ignores_a_skipped_step_is_out_of_step() -> None:
    schedule = Schedule(at(9), "lr", "opt")
    skipped = [SCALED, Skipped(at(6), "opt", "scaler"), Update(at(7), "scaler"), Clear(at(8), W)]
    train = [Backward(at(4), W), Step(at(6), "opt"), Clear(at(8), W)]
    assert found(ONE, train, schedule, skipped, schedule) == {"GL504:9"}


def test_a_scheduler_that_is_wound_on_between_windows_is_not_judged() -> None:
    train = [Backward(at(4), W), Step(at(6), "opt"), Clear(at(8), W)]
    assert found(ONE, train, [Schedule(at(9), "lr", "opt")] * 3, train) == set()


def test_every_scheduler_that_moves_after_a_skipped_step_is_out_of_step() -> None:
    skipped = [SCALED, Skipped(at(6), "opt", "scaler"), Update(at(7), "scaler"), Clear(at(8), W)]
    two = [Schedule(at(9), "warm-up", "opt"), Schedule(at(10), "cosine", "opt")]
    assert found(ONE, skipped, two) == {"GL504:9", "GL504:10"}


def test_a_scheduler_after_a_step_that_happened_is_in_step_again() -> None:
    skipped = [SCALED, Skipped(at(6), "opt", "scaler"), Update(at(7), "scaler"), Clear(at(8), W)]
    train = [Backward(at(4), W), Step(at(6), "opt"), Clear(at(8), W)]
    assert found(ONE, skipped, train, Schedule(at(9), "lr", "opt")) == set()


# Law 6 ---------------------------------------------------------------------------------------


def test_a_forgotten_layer_is_found_at_the_optimizer() -> None:
    loop = [Backward(at(4), W | X), Step(at(5), "opt"), Clear(at(6), W)]
    assert found(ONE, Declare(at(2), X), loop * 3) == {"GL601:1"}


def test_a_forgotten_layer_is_laid_to_the_optimizer_whose_loss_reaches_it() -> None:
    loop = [
        *[Backward(at(4), G | X), Step(at(5), "G"), Clear(at(6), G)],
        *[Backward(at(7), D), Step(at(8), "D"), Clear(at(9), D)],
    ]
    assert found(TWO, Declare(at(3), X), loop * 3) == {"GL601:1"}


def test_a_network_that_only_judges_an_image_needs_no_optimizer() -> None:
    image = [Declare(at(1), X, Traits(parameter=False)), Own(at(2), "image", X), Declare(at(3), W)]
    loop = [Clear(at(4), X), Backward(at(5), W | X), Step(at(6), "image")]
    assert found(image, loop * 3, END) == set()


def test_a_parameter_that_code_updates_by_hand_after_the_step_has_an_owner() -> None:
    loop = [
        *[Backward(at(4), W | X), Step(at(5), "opt"), Step(at(6), BY_HAND, cells=X)],
        Clear(at(7), W | X),
    ]
    assert found(ONE, Declare(at(2), X), loop * 3, END) == set()


def test_a_layer_that_was_frozen_in_time_needs_no_owner() -> None:
    loop = [Backward(at(4), W), Step(at(5), "opt"), Clear(at(6), W)]
    first = [Declare(at(2), X), Backward(at(4), W | X), *loop[1:]]
    assert found(ONE, first, Declare(at(3), X, Traits(frozen=True)), loop * 3) == set()


def test_leaves_that_are_no_parameters_need_no_owner() -> None:
    loop = [Backward(at(4), W | X), Step(at(5), "opt"), Clear(at(6), W)]
    assert found(ONE, Declare(at(2), X, Traits(parameter=False)), loop * 3) == set()


def test_a_replaced_layer_is_one_fault_at_the_replacement() -> None:
    old = frozenset({"bias"})
    replaced = [Declare(at(2), X), Replace(at(3), old, by=X)]
    loop = [Backward(at(4), W - old | X), Step(at(5), "opt"), Clear(at(6), W)]
    assert found(ONE, replaced, loop * 3, END) == {"GL603:3"}
    everything = [Declare(at(2), X), Replace(at(3), W, by=X)]
    assert found(ONE, everything, [Backward(at(4), X), *loop[1:]] * 3, END) == {"GL603:3"}


def test_a_parameter_that_no_loss_reaches_is_found_at_the_end_but_not_after_a_crash() -> None:
    loop = [Backward(at(4), frozenset({"weight"})), Step(at(5), "opt"), Clear(at(6), W)]
    assert found(ONE, loop * 3, END) == {"GL602:1"}
    assert found(ONE, loop * 3, RunEnd(at(99), crashed=True)) == set()
    frozen = Declare(at(2), frozenset({"bias"}), Traits(frozen=True))
    assert found(ONE, frozen, loop * 3, END) == set()


def test_zeros_move_a_resting_parameter_and_none_does_not() -> None:
    bias, weight = frozenset({"bias"}), frozenset({"weight"})
    rest = [Backward(at(4), weight), Step(at(5), "opt", moved=bias)]
    zeros, none = Clear(at(6), W, to_none=False), Clear(at(6), W)
    start = [Backward(at(3), W), Step(at(5), "opt")]
    assert found(ONE, start, zeros, rest) == {"GL604:5"}
    assert found(ONE, start, none, Backward(at(4), weight), Step(at(5), "opt")) == set()


def test_parameters_with_a_deposit_are_meant_to_move_and_zeros_alone_move_nothing() -> None:
    bias, zeros = frozenset({"bias"}), Clear(at(6), W, to_none=False)
    start = [Backward(at(3), W), Step(at(5), "opt"), zeros]
    assert found(ONE, start, Backward(at(4), W), Step(at(5), "opt", moved=W)) == set()
    assert found(ONE, start, Backward(at(4), W - bias), Step(at(5), "opt")) == set()


def test_an_old_gradient_of_a_trainable_parameter_is_a_missing_clear() -> None:
    bias = frozenset({"bias"})
    train = [Backward(at(3), W), Step(at(4), "opt"), Clear(at(5), W - bias)]
    assert found(ONE, train, Backward(at(7), W - bias), Step(at(8), "opt", moved=bias)) == {
        "GL101:8"
    }


def test_an_old_gradient_of_a_frozen_parameter_is_not_a_missing_clear() -> None:
    bias = frozenset({"bias"})
    train = [Backward(at(3), W), Step(at(4), "opt"), Clear(at(5), W - bias)]
    freeze = Declare(at(6), bias, Traits(frozen=True))
    rest = [Backward(at(7), W - bias), Step(at(8), "opt", moved=bias), Clear(at(9), W - bias)]
    assert found(ONE, train, freeze, rest) == {"GL604:8"}


def test_optimizers_for_one_phase_after_the_other_may_share_parameters() -> None:
    second = Own(at(2), "later", W)
    loop = [Backward(at(4), W), Step(at(5), "opt"), Clear(at(6), W)]
    after = [Backward(at(7), W), Step(at(8), "later"), Clear(at(9), W)]
    assert found(ONE, loop * 3, second, after * 3) == set()
    assert found(ONE, second, loop * 3, after * 3) == set()
    assert found(ONE, second, [*loop, *after] * 2) == {"GL605:2"}


def test_one_backward_spent_by_both_owners_of_a_cell_is_their_fault_and_no_missing_clear() -> None:
    loop = [Backward(at(4), W), Step(at(5), "opt"), Step(at(6), "other"), Clear(at(7), W)]
    assert found(ONE, Own(at(2), "other", W), loop * 2) == {"GL605:2"}


def test_a_gradient_that_is_none_is_told_only_where_it_is_needed() -> None:
    assert found(ONE, Read(at(4), W, needed=True)) == {"GL606:4"}
    assert found(ONE, Read(at(4), W)) == set()
    held = [Backward(at(3), W), Read(at(4), W, needed=True)]
    assert found(ONE, held) == set()


# Law 7 ---------------------------------------------------------------------------------------


def test_a_running_sum_of_losses_is_found_once_it_outlives_a_step() -> None:
    keep, train = Keep(at(7), "loss"), [Backward(at(4), W), *SPEND]
    assert found(ONE, [*train, keep] * 2) == {"GL701:7"}
    assert found(ONE, [*train, keep, Release(at(8), at(7))] * 3) == set()


def test_a_sum_that_nothing_will_walk_is_found_once_it_outlives_its_data() -> None:
    draw, keep = Batch(at(6)), Keep(at(7), "loss", unwalked=True)
    assert found(ONE, [draw, keep] * 2) == {"GL701:7"}
    assert found(ONE, [draw, keep, keep]) == set()
    assert found(ONE, [draw, keep, Release(at(8), at(7))] * 3) == set()
    assert found(ONE, [draw, Keep(at(7), "loss")] * 3, Backward(at(9), W), SPEND) == set()


def test_a_state_that_outlives_a_step_and_is_not_walked_breaks_no_law() -> None:
    keep, train = Keep(at(7), "state"), [Backward(at(4), W), *SPEND]
    assert found(ONE, [*train, keep] * 3) == set()


def test_another_loss_that_is_kept_for_the_first_time_breaks_no_law() -> None:
    train = [Backward(at(4), W), *SPEND]
    assert found(ONE, Keep(at(7), "loss"), train, Keep(at(8), "loss")) == set()


def test_losses_added_up_and_differentiated_once_break_no_law() -> None:
    keep = Keep(at(4), "loss")
    sequence = [keep, keep, keep, Backward(at(6), W, walks=frozenset({at(4)})), *SPEND]
    assert found(ONE, sequence * 3) == set()


def test_a_state_walked_twice_is_one_fault_whatever_retains_its_graph() -> None:
    walk = Backward(at(5), W, retain_graph=True, walks=frozenset({at(4)}))
    loop = [Keep(at(4), "state"), walk, *SPEND]
    assert found(ONE, loop * 3, END) == {"GL702:4"}
    detached = [*loop, Release(at(6), at(4))]
    assert found(ONE, detached * 3) == {"GL703:5"}


def test_a_backward_that_does_not_reach_the_old_state_breaks_no_law() -> None:
    first = [Keep(at(4), "state"), Backward(at(5), W, walks=frozenset({at(4)})), *SPEND]
    assert found(ONE, first, Backward(at(6), W), SPEND) == set()


def test_a_graph_that_the_same_line_walks_again_is_needed() -> None:
    again = Backward(at(4), W, retain_graph=True, walks=frozenset({at(4)}))
    assert found(ONE, [again] * 3, SPEND) == set()


def test_a_graph_retained_for_a_second_loss_is_needed() -> None:
    first = Backward(at(4), W, retain_graph=True)
    second = Backward(at(5), W, walks=frozenset({at(4)}))
    assert found(ONE, [first, second, *SPEND] * 3, END) == set()
    assert found(ONE, [first, *SPEND] * 3, END) == {"GL703:4"}


# Law 8 ---------------------------------------------------------------------------------------


def test_local_micro_batches_are_right_when_the_last_one_averages() -> None:
    local, sync = Backward(at(4), W, local=True), Sync(at(4), W)
    assert found(ONE, [local, local, local, sync, *SPEND] * 2) == set()
    assert found(ONE, [local, local, *SPEND]) == {"GL801:12"}
    assert found(ONE, [local, sync, local, *SPEND]) == {"GL801:12"}
    assert found(ONE, [local, sync, local, sync, *SPEND]) == {"GL802:4"}


def test_averaging_what_is_already_averaged_is_not_averaging_each_micro_batch() -> None:
    local, sync = Backward(at(4), W, local=True), Sync(at(5), W)
    assert found(ONE, local, sync, sync, SPEND) == set()


def test_replicas_that_part_for_want_of_an_average_are_one_fault() -> None:
    differ = Compare(at(12), W, equal=False)
    assert found(ONE, Backward(at(4), W, local=True), SPEND, differ) == {"GL801:12"}
    assert found(ONE, Backward(at(4), W), SPEND, differ) == {"GL803:12"}
    assert found(ONE, Backward(at(4), W), SPEND, Compare(at(12), W, equal=True)) == set()


# Law 9 ---------------------------------------------------------------------------------------


def test_a_nan_names_its_parameter_and_its_deposit() -> None:
    book = Book(judge)
    bad = Backward(at(4), W, non_finite=frozenset({"bias"}))
    for event in [*ONE, Backward(at(3), W), bad, Step(at(5), "opt")]:
        book.post(event)
    (finding,) = book.findings
    assert (finding.rule, finding.at) == ("GL901", at(5))
    assert "in bias first" in finding.detail
    assert [e.at for e in finding.evidence] == [at(4)]


def test_a_nan_that_only_the_step_sees_is_laid_to_the_deposits_it_spends() -> None:
    bad = Step(at(5), "opt", non_finite=frozenset({"bias"}))
    assert found(ONE, Backward(at(4), W), bad) == {"GL901:5"}
    assert found(ONE, Backward(at(4), W), Step(at(3), "opt"), bad) == {"GL101:5"}


def test_what_a_swallowed_exception_left_behind_is_found_at_the_step() -> None:
    torn = [Backward(at(4), frozenset({"bias"}), partial=True), Fault(at(4))]
    assert found(ONE, torn, Backward(at(4), W), SPEND) == {"GL902:12"}
    assert found(ONE, torn, Clear(at(6), W), Backward(at(4), W), SPEND) == set()
    assert found(ONE, torn[:1], SPEND) == {"GL902:12"}


def test_a_window_short_of_its_first_batch_is_found_and_a_smaller_divisor_is_not() -> None:
    short = [Fault(at(10)), *window(3)]
    assert found(ONE, window(4), SPEND, short, SPEND) == {"GL902:12"}
    weighed = [Fault(at(10)), *window(3, Weight("mean", 3, 8))]
    assert found(ONE, window(4), SPEND, weighed, SPEND) == set()


def test_a_window_that_nobody_tells_the_batches_of_is_counted_by_its_passes() -> None:
    passes = [Backward(at(4), W, QUARTER)] * 4
    assert found(ONE, passes, SPEND, Fault(at(3)), passes[:3], SPEND) == {"GL902:12"}
    assert found(ONE, passes, SPEND, Fault(at(3)), passes, SPEND) == set()


def test_a_window_that_an_exception_hit_may_be_given_up_with_all_that_came_behind_it() -> None:
    hit = [Backward(at(4), W, QUARTER), Fault(at(3)), Backward(at(4), W, QUARTER)]
    assert found(ONE, hit, Clear(at(2), W), END) == set()
    assert found(ONE, hit, Clear(at(2), W), hit[:1], Clear(at(2), W)) == {"GL201:2"}


def test_a_window_weighed_anew_after_an_exception_is_right() -> None:
    broken_off = [*window(2, Weight("sum", 1)), Fault(at(10)), *window(1, Weight("sum", 1))]
    assert found(ONE, broken_off, SPEND) == {"GL902:12"}
    assert found(ONE, broken_off, Edit(at(11), W, "scale", 1 / 3), SPEND) == set()


def test_a_window_started_again_after_an_exception_is_only_short() -> None:
    again = [Fault(at(10)), Clear(at(10), W), *window(3)]
    assert found(ONE, window(4), SPEND, again, SPEND) == {"GL302:11"}


def test_a_half_weighted_loss_after_an_exception_is_no_short_window() -> None:
    half = [*window(1, Weight("mean", 2, 8)), *SPEND]
    assert found(ONE, half, Fault(at(20)), half) == set()


def test_an_exception_outside_a_window_breaks_no_law() -> None:
    loop = [Backward(at(4), W), *SPEND]
    assert found(ONE, loop, Fault(at(20)), loop, END) == set()


def test_a_long_window_vanishes_in_low_precision_cells_only() -> None:
    exact = [Weight("mean", n, 8) for n in (256, 255)]
    low = Declare(at(2), W, Traits(low_precision=True))
    assert found(ONE, low, window(256, exact[0]), SPEND) == {"GL903:12"}
    assert found(ONE, window(256, exact[0]), SPEND) == set()
    assert found(ONE, low, window(255, exact[1]), SPEND) == set()
    seen = Step(at(12), "opt", vanished=W)
    assert found(ONE, low, window(4), seen) == {"GL903:12"}


# What is gone --------------------------------------------------------------------------------


def test_a_window_that_dies_with_its_model_is_left_over() -> None:
    gone = Gone(at(50), W, frozenset({"opt"}))
    assert found(ONE, [*window(4), *SPEND], window(2), gone, END) == {"GL203:11"}


def test_a_model_that_dies_after_its_step_leaves_nothing() -> None:
    gone = Gone(at(50), W, frozenset({"opt"}))
    assert found(ONE, Backward(at(11), W), Step(at(12), "opt"), gone, END) == set()


def test_a_new_model_of_the_same_name_starts_from_nothing() -> None:
    fold: list[Event] = [*ONE, Backward(at(11), W), Step(at(12), "opt")]
    assert found(fold, Gone(at(5), W, frozenset({"opt"})), fold, END) == set()


def test_a_parameter_without_gradient_is_found_when_its_optimizer_dies() -> None:
    more = frozenset({"unused"})
    train = [Declare(at(1), W | more), Own(at(1), "opt", W | more), Backward(at(11), W)]
    gone = Gone(at(50), W | more, frozenset({"opt"}))
    assert found(train, Step(at(12), "opt"), gone, END) == {"GL602:1"}


# Seen in public code -------------------------------------------------------------------------


def test_one_line_that_keeps_a_graph_for_the_next_loss_is_no_waste() -> None:
    losses: list[Event] = []
    for _ in range(3):
        first = Backward(at(11), W, retain_graph=True)
        losses += [first, Backward(at(11), W, retain_graph=True, walks=frozenset({at(11)}))]
        losses += SPEND
    assert found(ONE, losses, END) == set()


def test_a_clip_of_what_nobody_owns_is_inside_no_window() -> None:
    body = frozenset({"body"})
    turn: list[Event] = [Clear(at(9), W), Backward(at(11), W | body), Clip(at(12), W | body)]
    story = [Declare(at(1), body), *ONE, *[*turn, Step(at(13), "opt")] * 3]
    assert not any(finding.startswith("GL502") for finding in found(story, END))


def test_a_loop_that_never_spends_what_it_clears_has_no_tail() -> None:
    turn: list[Event] = [Clear(at(9), W), Step(at(10), "opt"), Backward(at(11), W)]
    epoch: list[Event] = [*turn * 3, EpochEnd(at(8))]
    assert found(ONE, epoch * 2, END) == {"GL201:9"}


def test_a_sum_that_is_divided_for_a_framework_is_not_divided_twice() -> None:
    weight = Weight("sum", 16, 32, framework_divides=True)
    assert found(ONE, Backward(at(11), W, weight), SPEND, END) == set()

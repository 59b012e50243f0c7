"""What no call announces: edits, reads, exchanged layers, sums that live on, exceptions."""

from __future__ import annotations

from itertools import groupby

from gradledger.ledger.events import (
    BY_HAND,
    Backward,
    Clear,
    Declare,
    Edit,
    Fault,
    Keep,
    Read,
    Release,
    Replace,
    Step,
)
from tests.observer.conftest import ALL, Observe, lines, only, told


def test_what_is_done_by_hand_is_seen_at_its_own_line(loop: Observe) -> None:
    seen = loop("""
        model(x).mean().backward()
        for p in model.parameters():
            p.grad /= 4
        for p in model.parameters():
            p.grad += 1
        for p in model.parameters():
            p.grad.data.zero_()
        model.bias.grad = torch.ones(1)
        for p in model.parameters():
            p.grad = None
    """)
    _, scale, change, zero, assign, clear, _ = told(seen)
    assert scale == Edit(scale.at, ALL, "scale", 0.25)
    assert change == Edit(change.at, ALL, "change")
    assert zero == Clear(zero.at, ALL, to_none=False)
    assert assign == Edit(assign.at, frozenset({"model.bias"}), "assign")
    assert clear == Clear(clear.at, ALL)
    assert [line for _, line in lines(seen)] == [7, 9, 11, 13, 14, 16, 16]


def test_an_update_by_hand_is_a_step_of_nobodys(loop: Observe) -> None:
    seen = loop("""
        model(x).mean().backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.1 * p.grad
        with torch.no_grad():
            model.weight.clamp_(-0.1, 0.1)
    """)
    each = [("Read", 10), ("Step", 10)]
    assert lines(seen) == [("Backward", 7), *each, *each, ("RunEnd", 12)]
    assert [e.optimizer for e in seen.events if isinstance(e, Step)] == [BY_HAND] * 2


def test_an_exception_that_is_caught_is_a_fault_where_it_was_raised(loop: Observe) -> None:
    seen = loop("""
        def load(i):
            if i == 1:
                raise ValueError(i)
            return x
        for i in range(3):
            try:
                with torch.enable_grad():
                    model(load(i)).mean().backward()
            except ValueError:
                continue
            finally:
                pass
    """)
    assert lines(seen) == [("Backward", 14), ("Fault", 9), ("Backward", 14), ("RunEnd", 18)]


def test_half_a_backward_is_partial(loop: Observe) -> None:
    seen = loop("""
        def fail(grad):
            raise KeyError
        hidden = model(x)
        middle = hidden * 1.0
        middle.register_hook(fail)
        try:
            (hidden * 2 + middle).mean().backward()
        except KeyError:
            pass
        optimizer.step()
    """)
    assert [name for name, _ in lines(seen)] == ["Backward", "Fault", "Step", "RunEnd"]
    assert only(seen, Backward).partial
    assert only(seen, Fault).at.line == 8


def test_a_missing_gradient_that_ends_the_run_was_needed(loop: Observe) -> None:
    seen = loop("print(model.weight.grad.norm())")
    assert lines(seen) == [("Read", 7), ("RunEnd", 7)]
    assert only(seen, Read) == Read(only(seen, Read).at, ALL, needed=True)


def test_to_use_a_gradient_or_a_norm_is_to_read_it(loop: Observe) -> None:
    seen = loop("""
        model(x).mean().backward()
        for p in model.parameters():
            if p.grad is not None:
                print(p.grad.norm())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for p in model.parameters():
            if p.grad is not None:
                p.grad.detach_()
                p.grad.zero_()
    """)
    calls = [("Backward", 7), ("Read", 10), ("Clip", 11), ("Clip", 12), ("Read", 12)]
    assert lines(seen) == [*calls, ("Clear", 16), ("RunEnd", 16)]
    assert all(event.cells == ALL for event in seen.events if isinstance(event, Read))


def test_a_parameter_that_moves_on_momentum_alone_is_told(loop: Observe) -> None:
    seen = loop("""
        model(x).mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        optimizer.step()
        optimizer.zero_grad()
        optimizer.step()
    """)
    moved = [event.moved for event in seen.events if isinstance(event, Step)]
    assert moved == [frozenset(), ALL, frozenset()]


def test_a_replaced_layer_is_told_once_an_optimizer_holds_it(loop: Observe) -> None:
    seen = loop("""
        net = nn.Sequential(nn.Linear(3, 3), model)
        net[0] = nn.Linear(3, 3)
        net[1] = nn.Linear(3, 1)
    """)
    replace = only(seen, Replace)
    assert (replace.cells, replace.at.line) == (ALL, 9)
    assert replace.by == {"net.1.weight", "net.1.bias"}


def test_freezing_is_declared(loop: Observe) -> None:
    seen = loop("""
        model.bias.requires_grad_(False)
        model(x).mean().backward()
    """)
    again = [event for event in told(seen) if isinstance(event, Declare)]
    assert [event.cells for event in again] == [{"model.bias"}]
    assert again[0].traits.frozen


def test_a_sum_is_kept_until_it_is_overwritten_and_walked_by_its_backward(loop: Observe) -> None:
    seen = loop("""
        total = 0
        for _ in range(2):
            loss = model(x).mean() + model(x).sum()
            loss.backward()
            total = total + loss
            optimizer.step()
        del total
    """)
    kept = [(type(e).__name__, e.at.line) for e in seen.events if isinstance(e, Keep)]
    assert kept == [("Keep", 9), ("Keep", 11), ("Keep", 9), ("Keep", 11)]
    assert [e.kept.line for e in seen.events if isinstance(e, Release)] == [11, 9]
    walks = [event.walks for event in seen.events if isinstance(event, Backward)]
    assert [{place.line for place in walked} for walked in walks] == [{9}, {9}]


def test_states_that_two_modules_give_back_at_one_line_are_not_built_on_each_other(
    loop: Observe,
) -> None:
    seen = loop("""
        nets = [torch.nn.LSTM(3, 3), torch.nn.LSTM(3, 3)]
        for _ in range(2):
            for net in nets:
                output, state = net(torch.ones(1, 3))
                output.mean().backward()
    """)
    fates = [type(e).__name__ for e in seen.events if isinstance(e, Keep | Release | Backward)]
    in_turn = [fate for fate, _ in groupby(fates)]
    assert in_turn == ["Keep", "Backward", *["Release", "Keep", "Backward"] * 3]

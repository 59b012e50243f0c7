"""Gradients that go past the cells, straight into the sums: nobody can tell the difference."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim import SGD, AdamW

from gradledger import Stepper
from gradledger.engine import walks
from gradledger.engine.cycle import LONG_AGO
from gradledger.engine.walks import collect, collectable

from .loops import (
    Batch,
    Boom,
    assert_same_model,
    big_batches,
    failing_in_backward,
    micro_batches,
    mse,
    net,
    windows,
)

PACK = pytest.mark.parametrize("pack", [True, False], ids=["packed", "loose"])
SIZES = (4, 1, 3, 2, 6, 5, 2, 3, 1)


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which way the gradients of each walk took."""
    taken: list[str] = []
    engine = walks._ENGINE
    assert engine is not None, "this torch has no engine by that name, so all walks are slow"

    def noted(*args: Any, **kwargs: Any) -> object:
        taken.append("cells" if kwargs["accumulate_grad"] else "collected")
        return engine(*args, **kwargs)

    monkeypatch.setattr(walks, "_ENGINE", noted)
    return taken


def train(stepper: Stepper, model: nn.Module, data: list[Batch]) -> None:
    for batch in stepper.over(data):
        stepper.backward(mse(model, batch), items=len(batch[1]))


def test_what_is_collected_is_bit_for_bit_what_torch_deposits() -> None:
    model, (batch,) = net(), micro_batches(4)
    parameters = tuple(model.parameters())
    found = collect(mse(model, batch), parameters, retain_graph=False)
    assert found is not None
    assert all(p.grad is None for p in parameters)
    torch.autograd.backward(mse(model, batch))
    for p, grad in zip(parameters, found, strict=True):
        assert grad is not None
        assert p.grad is not None
        assert torch.equal(grad, p.grad)


def test_a_parameter_that_the_loss_does_not_reach_has_none() -> None:
    model, (batch,) = net(), micro_batches(4)
    found = collect(
        model[0](batch[0]).mean(), (model[2].weight, model[0].weight), retain_graph=False
    )
    assert found is not None
    assert found[0] is None
    assert found[1] is not None


def test_a_walk_that_fails_half_way_has_touched_no_cell() -> None:
    model, (batch,) = net(), micro_batches(4)
    with pytest.raises(Boom):
        collect(
            failing_in_backward(model, batch, Boom()),
            tuple(model.parameters()),
            retain_graph=False,
        )
    assert all(p.grad is None for p in model.parameters())


def test_a_pack_is_passed_in_every_micro_batch_and_the_loose_behind_their_first(
    ways: list[str],
) -> None:
    for pack in (True, False):
        model = net()
        stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=3, pack=pack)
        train(stepper, model, micro_batches(*SIZES[:6]))
    cells, past = ["cells"], ["collected"]
    assert ways[:6] == cells + past * 5
    assert ways[6:] == (cells + past * 2) * 2


@PACK
@pytest.mark.parametrize("late", [True, False], ids=["late", "early"])
@pytest.mark.parametrize("where", ["parameter", "node", "before the node"])
def test_who_waits_for_a_deposit_sees_one_in_every_micro_batch(
    where: str, late: bool, pack: bool
) -> None:
    model = net()
    stepper = Stepper(model, AdamW(model.parameters()), accumulate=3, pack=pack)
    data = micro_batches(*SIZES)
    if late:
        train(stepper, model, data[:1])
    seen: list[str] = []
    p = model[0].weight
    node = torch.autograd.graph.get_gradient_edge(p).node
    if where == "parameter":
        p.register_post_accumulate_grad_hook(lambda _: seen.append("deposit"))
    elif where == "node":
        node.register_hook(lambda *_: seen.append("deposit"))
    else:
        node.register_prehook(lambda *_: seen.append("deposit"))
    train(stepper, model, data)
    assert len(seen) == len(data)


def test_a_hook_that_is_taken_away_is_not_waited_for(ways: list[str]) -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2)
    hook: Callable[[Tensor], None] = lambda _: None  # noqa: E731
    handle = model[0].weight.register_post_accumulate_grad_hook(hook)
    train(stepper, model, micro_batches(*SIZES[:4]))
    assert ways == ["cells"] * 4
    handle.remove()
    train(stepper, model, micro_batches(*SIZES[:4]))
    assert ways[4:] == ["collected"] * 4


def test_what_somebody_may_send_or_convert_on_its_way_goes_through_the_cells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    p = nn.Parameter(torch.ones(2))
    assert collectable([p])
    p.grad_dtype = torch.float64
    assert not collectable([p])
    assert not collectable([nn.Parameter(torch.ones(2).as_subclass(_Own))])
    monkeypatch.setattr(dist, "is_initialized", lambda: True)
    assert not collectable([nn.Parameter(torch.ones(2))])


def test_nodes_are_asked_where_there_are_none() -> None:
    p = nn.Parameter(torch.ones(2))
    with torch.inference_mode():
        assert collectable([p])


class _Own(Tensor):
    pass


class Twins(nn.Module):
    """Two parameters with one gradient, which torch keeps in one and the same memory."""

    def __init__(self) -> None:
        super().__init__()
        self.main = nn.Linear(5, 3, dtype=torch.float64)
        self.one = nn.Parameter(torch.zeros(3, dtype=torch.float64))
        self.other = nn.Parameter(torch.ones(3, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.main(x)
        return out if x[0, 0] < 0 else out + (self.one + self.other)


@PACK
def test_parameters_that_share_a_gradient_have_sums_of_their_own(pack: bool) -> None:
    def make() -> Twins:
        torch.manual_seed(0)
        return Twins()

    ours, theirs = make(), make()
    a, b = SGD(ours.parameters(), 0.1), SGD(theirs.parameters(), 0.1)
    data = micro_batches(*[4] * 9)
    for i, (x, _) in enumerate(data):
        x[0, 0] = 1.0 if i % 3 else -1.0  # the first of a window does not reach them
    stepper = Stepper(ours, a, accumulate=3, pack=pack)
    train(stepper, ours, data)
    for window in windows(data, 3):
        for batch in window:
            torch.autograd.backward(mse(theirs, batch) / 3)
        b.step()
        b.zero_grad()
    assert_same_model(ours, theirs)


@PACK
@pytest.mark.parametrize("frozen_at", range(3))
def test_a_parameter_that_is_frozen_inside_a_window_keeps_what_it_got(
    frozen_at: int, pack: bool
) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*SIZES)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=3, pack=pack)
    reference = SGD(theirs.parameters(), 0.1)
    for i, batch in enumerate(stepper.over(data)):
        for model in (ours, theirs):
            model[0].weight.requires_grad_(not 3 + frozen_at <= i < 6)
        stepper.backward(mse(ours, batch), items=len(batch[1]))
        window = data[i // 3 * 3 : i // 3 * 3 + 3]
        share = len(batch[1]) / sum(len(y) for _, y in window)
        torch.autograd.backward(mse(theirs, batch) * share)
        if i % 3 == 2:
            reference.step()
            reference.zero_grad()
    assert_same_model(ours, theirs)


def test_a_parameter_that_is_listed_twice_counts_once() -> None:
    ours, theirs = net(), net()
    data = micro_batches(*SIZES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        twice = SGD([*ours.parameters(), ours[0].weight], 0.1)
        expected = SGD([*theirs.parameters(), theirs[0].weight], 0.1)
    train(Stepper(ours, twice, accumulate=3), ours, data)
    big_batches(theirs, expected, windows(data, 3))
    assert_same_model(ours, theirs)


def test_low_precision_that_begins_late_in_a_window_adds_up_in_float32(ways: list[str]) -> None:
    steady = nn.Parameter(torch.ones(1, dtype=torch.bfloat16))
    late = nn.Parameter(torch.zeros(1, dtype=torch.bfloat16))
    optimizer = SGD([steady, late], 1.0)
    model = nn.ParameterList([steady, late])
    stepper = Stepper(model, optimizer, accumulate=301, pack=False)
    for i in range(301):
        loss = steady.sum() if i == 0 else steady.sum() + late.sum() * 301
        stepper.backward(loss, items=1)
    assert ways.count("collected") == 300
    assert late.item() == -300


def test_a_hook_on_the_node_that_deposits_runs_from_a_pass_on_with_enough_behind_it() -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1))
    for batch in stepper.over(micro_batches(*[4] * LONG_AGO)):
        stepper.backward(mse(model, batch), items=4)
    ran: list[object] = []
    node = torch.autograd.graph.get_gradient_edge(model[0].weight).node
    node.register_hook(lambda *_: ran.append(1))
    for batch in stepper.over(micro_batches(4, 4)):
        stepper.backward(mse(model, batch), items=4)
    assert len(ran) == 2

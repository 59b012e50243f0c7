"""Norms of what steps spend, and update ratios, against the same in float64 by other means."""

from __future__ import annotations

import gc
import math
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.nn.utils import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from torch.optim import LBFGS, SGD, Adam, AdamW, Optimizer, SparseAdam

import gradledger
from gradledger import Stepper
from gradledger.ledger.events import Event, Own, Skipped, Step
from gradledger.recording import Recording, Series
from gradledger.runtime.audit import Audit
from gradledger.runtime.outputs import measurements as measuring_module
from gradledger.runtime.outputs import parameter_moves as moves
from gradledger.runtime.outputs.measurements import (
    EACH_NORM,
    EACH_RATIO,
    LOSS,
    NORM,
    RATE,
    RATIO,
    Measured,
    is_due,
)
from gradledger.runtime.outputs.parameter_moves import Before, ratio


class Book:
    """What was measured, and the audit that measured it."""

    def __init__(self) -> None:
        self.audit = Audit()
        self.all: list[Measured] = []
        self.audit.measured.append(self.all.append)

    def of(self, name: str, optimizer: str = "optimizer-1") -> list[Measured]:
        return [told for told in self.all if (told.name, told.optimizer) == (name, optimizer)]

    def norms(self, optimizer: str = "optimizer-1") -> list[float | None]:
        return [told.total for told in self.of(NORM, optimizer)]


@contextmanager
def measured() -> Iterator[Book]:
    book = Book()
    with book.audit:
        yield book
    assert book.audit.verdict("a test").trouble == ""


def norm(tensors: Iterable[Tensor | None]) -> float:
    """In double precision, one after the other."""
    squares = 0.0
    for tensor in tensors:
        assert tensor is not None
        plain = tensor.detach().to_dense() if tensor.layout != torch.strided else tensor.detach()
        wide = plain.to(torch.complex128 if plain.is_complex() else torch.float64)
        squares += float(wide.abs().square().sum())
    return math.sqrt(squares)


def grads(model: nn.Module) -> list[Tensor | None]:
    return [p.grad for p in model.parameters()]


def mlp(*widths: int) -> nn.Sequential:
    torch.manual_seed(len(widths))
    layers = [nn.Linear(a, b) for a, b in pairwise(widths)]
    return nn.Sequential(*(part for layer in layers for part in (layer, nn.Tanh())))


def deposit(model: nn.Module, scaler: GradScaler | None = None, *, times: float = 1.0) -> None:
    width = next(model.parameters()).shape[-1]
    loss = model(torch.randn(4, width)).square().mean() * times
    (loss if scaler is None else scaler.scale(loss)).backward()


def close_to(*expected: float | None) -> Any:
    return pytest.approx(list(expected), rel=1e-5)


# Norms: what is spent ----------------------------------------------------------------------------


def test_the_norm_is_that_of_all_deposits_that_a_step_spends() -> None:
    model = mlp(6, 5, 1)
    optimizer = SGD(model.parameters(), lr=0.1)
    expected = []
    with measured() as book:
        for _ in range(3):
            deposit(model)
            deposit(model)
            expected.append(norm(grads(model)))
            optimizer.step()
            optimizer.zero_grad()
    assert book.norms() == close_to(*expected)
    assert [told.step for told in book.of(NORM)] == [1, 2, 3]


def test_each_parameter_has_its_own_norm_under_its_name_in_the_books() -> None:
    model = mlp(6, 5, 1)
    optimizer = SGD(model.parameters(), lr=0.1)
    with measured() as book:
        deposit(model)
        expected = {f"model.{name}": norm([p.grad]) for name, p in model.named_parameters()}
        optimizer.step()
    (told,) = book.of(NORM)
    assert told.cells == pytest.approx(expected, rel=1e-5)


def test_a_measure_is_of_the_event_that_told_of_the_step(tmp_path: Path) -> None:
    model = mlp(6, 1)
    optimizer = SGD(model.parameters(), lr=0.1)
    with gradledger.audit(record=tmp_path / "run.gradledger"):
        for _ in range(3):
            deposit(model)
            optimizer.step()
            optimizer.zero_grad()
    with Recording(tmp_path / "run.gradledger") as recording:
        steps = [recorded.number for recorded in recording.events(Step)]
        total = Series(NORM, "optimizer-1")
        assert [measure.event for measure in recording.measures(total)] == steps
        assert [measure.step for measure in recording.measures(total)] == [1, 2, 3]
        assert {series.name for series in recording.series()} == {NORM, RATIO, LOSS, RATE}
        assert {series.cell for series in recording.series()} == {
            "",
            "model.0.bias",
            "model.0.weight",
        }


def test_nothing_is_measured_where_nobody_wants_to_know() -> None:
    with gradledger.audit() as book:
        assert book._measuring is None


def test_parameters_without_a_gradient_have_no_part_in_it() -> None:
    used, unused = mlp(6, 1), mlp(6, 1)
    with measured() as book:
        optimizer = SGD([*used.parameters(), *unused.parameters()], lr=0.1)
        deposit(used)
        expected = norm(grads(used))
        optimizer.step()
    (told,) = book.of(NORM)
    assert told.total == pytest.approx(expected, rel=1e-5)
    assert set(told.cells) == {"used.0.bias", "used.0.weight"}
    assert set(book.of(RATIO)[0].cells) == {"used.0.bias", "used.0.weight"}


def test_a_step_without_any_gradient_counts_and_has_no_norm() -> None:
    model = mlp(6, 1)
    optimizer = SGD(model.parameters(), lr=0.1)
    with measured() as book:
        optimizer.step()
        deposit(model)
        optimizer.step()
    assert [told.step for told in book.of(NORM)] == [2]


def test_tied_weights_count_once() -> None:
    model = mlp(5, 5, 5)
    model[2].weight = model[0].weight
    optimizer = SGD(model.parameters(), lr=0.1)
    with measured() as book:
        deposit(model)
        expected = norm(grads(model))
        optimizer.step()
    assert len(grads(model)) == 3
    assert book.norms() == close_to(expected)


def test_optimizers_are_measured_apart_and_count_their_own_steps() -> None:
    g, d = mlp(4, 3), mlp(4, 3)
    opt_g, opt_d = SGD(g.parameters(), lr=0.1), Adam(d.parameters())
    expected: dict[str, list[float]] = {"optimizer-1": [], "optimizer-2": []}
    with measured() as book:
        for turn in range(4):
            for name, model, optimizer in (("optimizer-1", g, opt_g), ("optimizer-2", d, opt_d)):
                if optimizer is opt_d and turn % 2:
                    continue
                optimizer.zero_grad()
                deposit(model)
                expected[name].append(norm(grads(model)))
                optimizer.step()
    for name, norms in expected.items():
        assert book.norms(name) == close_to(*norms)
    assert [told.step for told in book.of(NORM, "optimizer-2")] == [1, 2]


# Norms: before clipping --------------------------------------------------------------------------


Clip = Callable[[list[Tensor]], object]


def with_norm(parameters: list[Tensor]) -> None:
    total = get_total_norm([p.grad for p in parameters if p.grad is not None])
    clip_grads_with_norm_(parameters, 0.01, total)


@pytest.mark.parametrize(
    "clip",
    [
        lambda parameters: clip_grad_norm_(parameters, 0.01),
        lambda parameters: clip_grad_norm_(parameters, 0.01, norm_type=1.0),
        lambda parameters: clip_grad_value_(parameters, 0.001),
        lambda parameters: [clip_grad_norm_(p, 0.01) for p in parameters],
        lambda parameters: (clip_grad_norm_(parameters, 0.5), clip_grad_value_(parameters, 1e-3)),
        with_norm,
    ],
    ids=["norm", "1-norm", "value", "one by one", "twice", "with a norm"],
)
def test_a_clip_does_not_change_the_norm(clip: Clip) -> None:
    model = mlp(6, 5, 1)
    optimizer = SGD(model.parameters(), lr=0.1)
    expected = []
    with measured() as book:
        for _ in range(3):
            optimizer.zero_grad()
            deposit(model)
            expected.append(norm(grads(model)))
            clip(list(model.parameters()))
            assert norm(grads(model)) < 0.5 * expected[-1]
            optimizer.step()
    assert book.norms() == close_to(*expected)


def test_a_deposit_behind_a_clip_makes_another_norm() -> None:
    model = mlp(6, 5, 1)
    optimizer = SGD(model.parameters(), lr=0.1)
    with measured() as book:
        deposit(model)
        clip_grad_norm_(model.parameters(), 0.01)
        deposit(model)
        expected = norm(grads(model))
        optimizer.step()
    assert book.norms() == close_to(expected)


def test_a_clear_ends_what_was_there_before_a_clip() -> None:
    model = mlp(6, 5, 1)
    optimizer = SGD(model.parameters(), lr=0.1)
    with measured() as book:
        deposit(model)
        clip_grad_norm_(model.parameters(), 0.01)
        optimizer.zero_grad(set_to_none=False)
        optimizer.step()
    assert book.norms() == [0.0]


def test_a_clip_of_some_counts_for_those_and_for_all_optimizers() -> None:
    a, b = mlp(6, 5, 1), mlp(4, 3)
    with measured() as book:
        first, second = SGD(a.parameters(), lr=0.1), SGD(b.parameters(), lr=0.1)
        deposit(a)
        deposit(b)
        expected = norm(grads(a)), norm(grads(b))
        clip_grad_norm_([*a[0].parameters(), *b.parameters()], 0.001)
        second.step()
        first.step()
    assert book.norms("optimizer-1") == close_to(expected[0])
    assert book.norms("optimizer-2") == close_to(expected[1])


def test_of_two_clips_with_a_deposit_between_the_second_counts_where_it_fell() -> None:
    model = mlp(6, 5, 1)
    first, second = list(model[0].parameters()), list(model[2].parameters())
    optimizer = SGD(model.parameters(), lr=0.1)
    with measured() as book:
        deposit(model)
        kept = [p.grad.clone() for p in first if p.grad is not None]
        clip_grad_norm_(model.parameters(), 0.01)
        torch.autograd.backward(sum((p.square().sum() for p in second), torch.zeros(())))
        expected = norm([*kept, *(p.grad for p in second)])
        clip_grad_norm_(model.parameters(), 0.02)
        optimizer.step()
    assert book.norms() == close_to(expected)


def test_gradients_that_are_put_there_by_hand_behind_a_clip_are_what_counts() -> None:
    model = mlp(6, 1)
    optimizer = SGD(model.parameters(), lr=0.1)
    with measured() as book:
        deposit(model)
        clip_grad_norm_(model.parameters(), 0.01)
        for p in model.parameters():
            p.grad = torch.ones_like(p)
        optimizer.step()
    assert book.norms() == close_to(norm([torch.ones(7)]))


# Norms: unscaled ---------------------------------------------------------------------------------


def scaled_run(
    book: Book, turn: Callable[[nn.Module, Optimizer, GradScaler], float], kind: Any = SGD
) -> list[float]:
    model = mlp(6, 5, 1)
    optimizer = kind(model.parameters(), lr=0.1)
    scaler = GradScaler("cpu", init_scale=1024.0, growth_interval=2)
    expected = []
    for _ in range(4):
        optimizer.zero_grad()
        expected.append(turn(model, optimizer, scaler))
        scaler.update()
    assert scaler.get_scale() > 1024.0
    return expected


def accumulate(model: nn.Module, scaler: GradScaler) -> float:
    deposit(model, scaler, times=0.5)
    deposit(model, scaler, times=0.5)
    return norm(grads(model)) / scaler.get_scale()


def unscales_and_clips(model: nn.Module, optimizer: Optimizer, scaler: GradScaler) -> float:
    expected = accumulate(model, scaler)
    scaler.unscale_(optimizer)
    clip_grad_norm_(model.parameters(), 0.01)
    scaler.step(optimizer)
    return expected


def clips_what_is_scaled(model: nn.Module, optimizer: Optimizer, scaler: GradScaler) -> float:
    expected = accumulate(model, scaler)
    clip_grad_norm_(model.parameters(), 0.01)
    scaler.step(optimizer)
    return expected


def clips_what_is_scaled_and_unscales(
    model: nn.Module, optimizer: Optimizer, scaler: GradScaler
) -> float:
    expected = accumulate(model, scaler)
    clip_grad_norm_(model.parameters(), 0.01)
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    return expected


def leaves_it_to_the_scaler(model: nn.Module, optimizer: Optimizer, scaler: GradScaler) -> float:
    expected = accumulate(model, scaler)
    scaler.step(optimizer)
    return expected


def unscales(model: nn.Module, optimizer: Optimizer, scaler: GradScaler) -> float:
    expected = accumulate(model, scaler)
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    return expected


def steps_on_what_is_scaled(model: nn.Module, optimizer: Optimizer, scaler: GradScaler) -> float:
    expected = accumulate(model, scaler)
    optimizer.step()
    scaler.unscale_(SGD(model.parameters()))  # so that there is something to update from
    return expected


@pytest.mark.parametrize("kind", [SGD, lambda p, lr: Adam(p, lr=lr, fused=True)], ids=["", "fused"])
@pytest.mark.parametrize(
    "turn",
    [
        unscales_and_clips,
        clips_what_is_scaled,
        clips_what_is_scaled_and_unscales,
        leaves_it_to_the_scaler,
        unscales,
        steps_on_what_is_scaled,
    ],
)
def test_the_norm_is_unscaled_whatever_is_done(
    turn: Callable[[nn.Module, Optimizer, GradScaler], float], kind: Any
) -> None:
    with measured() as book:
        expected = scaled_run(book, turn, kind)
    assert book.norms() == close_to(*expected)


def test_a_step_that_a_scaler_skips_is_neither_counted_nor_measured() -> None:
    for fused in (False, True):
        model = mlp(6, 5, 1)
        optimizer = Adam(model.parameters(), fused=fused)
        scaler = GradScaler("cpu", init_scale=4.0)
        expected = []
        with measured() as book:
            for turn in range(5):
                optimizer.zero_grad()
                deposit(model, scaler, times=math.inf if turn in (1, 2) else 1.0)
                if turn not in (1, 2):
                    expected.append(norm(grads(model)) / scaler.get_scale())
                scaler.step(optimizer)
                scaler.update()
        assert book.audit.tally.skipped_steps == 2
        assert [told.step for told in book.of(NORM)] == [1, 2, 3]
        assert book.norms() == close_to(*expected)


def test_a_sum_of_scaled_and_unscaled_deposits_has_no_norm_at_a_clip() -> None:
    model, other = mlp(6, 5, 1), mlp(6, 1)
    scaler = GradScaler("cpu", init_scale=1024.0)
    with measured() as book:
        optimizer = SGD([*model.parameters(), *other.parameters()], lr=0.1)
        deposit(model, scaler)
        deposit(model)
        deposit(other)
        clip_grad_norm_([*model.parameters(), *other.parameters()], 0.1)
        optimizer.step()
    (told,) = book.of(NORM)
    assert told.total is None
    assert set(told.cells) == {"other.0.bias", "other.0.weight"}


def test_gradients_in_an_old_scale_have_no_norm_at_a_clip() -> None:
    model = mlp(6, 5, 1)
    optimizer = SGD(model.parameters(), lr=0.1)
    scaler = GradScaler("cpu", init_scale=1024.0)
    with measured() as book:
        deposit(model, scaler)
        scaler.update(512.0)
        clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
    assert book.of(NORM) == []
    assert len(book.of(RATIO)) == 1


# Norms: all kinds of tensors -----------------------------------------------------------------


def spend(kind: Any, parameters: list[nn.Parameter], values: list[Tensor]) -> Measured:
    """Of one step that spends these gradients."""
    with measured() as book:
        optimizer = kind(parameters)
        for parameter, value in zip(parameters, values, strict=True):
            parameter.grad = value
        optimizer.step()
    (told,) = book.of(NORM)
    return told


def of_shape(*shapes: tuple[int, ...], dtype: torch.dtype = torch.float32) -> list[nn.Parameter]:
    torch.manual_seed(0)
    return [nn.Parameter(torch.randn(shape, dtype=dtype)) for shape in shapes]


def sgd(parameters: list[nn.Parameter], **options: Any) -> SGD:
    return SGD(parameters, lr=0.1, **options)


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize(
    "shapes",
    [
        [(3, 2)],
        [(3, 2), (0,), (1,)],
        [(4, 4)] * 40,
        [(4, 4), (70, 70)] * 20,
        [(60, 60)] * 20,
        [(2,)] * 30 + [(0, 3)] * 3,
    ],
    ids=["one", "an empty one", "many small", "many small and large", "large", "empty among many"],
)
def test_however_many_and_large_they_are(shapes: list[tuple[int, ...]], foreach: bool) -> None:
    parameters = of_shape(*shapes)
    values = [torch.randn_like(p) for p in parameters]
    told = spend(lambda p: sgd(p, foreach=foreach), parameters, values)
    assert told.total == pytest.approx(norm(values), rel=1e-6)
    assert sorted(told.cells.values()) == pytest.approx(
        sorted(norm([value]) for value in values), rel=1e-6
    )


@pytest.mark.parametrize("count", [3, 30])
@pytest.mark.parametrize(
    "dtype",
    [torch.bfloat16, torch.float16, torch.float64, torch.complex64, torch.complex128],
    ids=str,
)
def test_of_whatever_type_they_are(dtype: torch.dtype, count: int) -> None:
    parameters = of_shape(*[(9, 7)] * count, dtype=dtype)
    values = [torch.randn_like(p) * 100 for p in parameters]
    told = spend(sgd, parameters, values)
    assert told.total == pytest.approx(norm(values), rel=1e-5)


def test_in_sixteen_bits_a_norm_does_not_overflow() -> None:
    (parameter,) = of_shape((100,), dtype=torch.float16)
    value = torch.full_like(parameter, 60_000)
    assert spend(sgd, [parameter], [value]).total == pytest.approx(600_000, rel=1e-3)


@pytest.mark.parametrize("count", [1, 20])
def test_types_may_be_mixed(count: int) -> None:
    kinds = (torch.bfloat16, torch.float32, torch.float64, torch.complex64)
    parameters = [p for kind in kinds for p in of_shape(*[(9, 7)] * count, dtype=kind)]
    values = [torch.randn_like(p) for p in parameters]
    told = spend(lambda p: sgd(p, foreach=False), parameters, values)
    assert told.total == pytest.approx(norm(values), rel=1e-5)
    assert len(told.cells) == len(parameters)


def test_sparse_gradients_count_what_they_add_up_to() -> None:
    table = nn.Embedding(10, 3, sparse=True)
    head = nn.Linear(3, 1)
    rows, rest = SparseAdam(list(table.parameters())), SGD(head.parameters(), lr=0.1)
    with measured() as book:
        head(table(torch.tensor([1, 1, 7, 1]))).square().sum().backward()
        expected = norm([table.weight.grad]), norm(grads(head))
        rows.step()  # type: ignore[no-untyped-call]
        rest.step()
    assert book.norms("optimizer-1") == close_to(expected[0])
    assert book.norms("optimizer-2") == close_to(expected[1])


def test_sparse_and_dense_gradients_of_one_optimizer() -> None:
    table = nn.Embedding(10, 3, sparse=True)
    head = nn.Linear(3, 1)
    optimizer = SGD([*table.parameters(), *head.parameters()], lr=0.1)
    with measured() as book:
        head(table(torch.tensor([1, 1, 7, 1]))).square().sum().backward()
        expected = norm([table.weight.grad, *grads(head)])
        clip_grad_norm_(head.parameters(), 0.01)
        optimizer.step()
    assert book.norms() == close_to(expected)


@pytest.mark.filterwarnings("ignore:Using backward")
def test_gradients_with_a_graph_of_their_own() -> None:
    model = mlp(6, 5, 1)
    optimizer = SGD(model.parameters(), lr=0.1)
    with measured() as book:
        loss = model(torch.randn(4, 6)).square().mean()
        torch.autograd.backward(loss, create_graph=True)
        expected = norm(grads(model))
        clip_grad_norm_(model.parameters(), math.inf)
        optimizer.step()
        for p in model.parameters():
            p.grad = None
    assert book.norms() == close_to(expected)


def test_numbers_that_are_not_there_are_not_measured() -> None:
    model = nn.Linear(3, 2, device="meta")
    optimizer = SGD(model.parameters(), lr=0.1)
    with measured() as book:
        for p in model.parameters():
            p.grad = torch.empty_like(p)
        optimizer.step()
        assert book.audit.tally.steps == 1
        assert {told.name for told in book.all} == {RATE}
        real = mlp(6, 5)
        other = SGD(real.parameters(), lr=0.1)
        deposit(real)
        other.step()
        assert len(book.norms("optimizer-2")) == 1  # and nobody waits for the others
    assert {told.name for told in book.all if told.optimizer == "optimizer-1"} == {RATE}


def test_of_a_dtensor_the_part_on_this_rank_is_measured() -> None:
    from torch.distributed import destroy_process_group, init_process_group
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_module, distribute_tensor

    store = torch._C._distributed_c10d.HashStore()
    init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        mesh = init_device_mesh("cpu", (1,))
        model = nn.Linear(6, 5)

        def shard(_: str, module: nn.Module, mesh: Any) -> None:
            for name, p in list(module.named_parameters(recurse=False)):
                whole = distribute_tensor(p, mesh, [Shard(0)])
                module.register_parameter(name, nn.Parameter(whole))

        distribute_module(model, mesh, shard)
        optimizer = SGD(model.parameters(), lr=0.1)
        with measured() as book:
            x = distribute_tensor(torch.randn(4, 6), mesh, [Shard(0)])
            model(x).square().mean().backward()
            expected = norm([p.grad.to_local() for p in model.parameters()])  # type: ignore[union-attr]
            clip_grad_norm_(model.parameters(), 0.01)
            optimizer.step()
        assert book.norms() == close_to(expected)
        assert len(book.of(RATIO)) == 1
    finally:
        destroy_process_group()


# Closures, wrappers, Steppers --------------------------------------------------------------------


def test_with_a_closure_what_it_computed_last_is_measured() -> None:
    model = mlp(6, 5, 1)
    optimizer = SGD(model.parameters(), lr=0.1)
    expected = []

    def closure() -> Tensor:
        optimizer.zero_grad()
        deposit(model)
        expected.append(norm(grads(model)))
        clip_grad_norm_(model.parameters(), 0.01)
        return torch.zeros(())

    with measured() as book:
        deposit(model)
        for _ in range(3):
            optimizer.step(closure)
    assert book.norms() == close_to(*expected)


def test_each_evaluation_of_lbfgs_has_a_norm_and_the_call_is_one_step() -> None:
    model = mlp(3, 2)
    optimizer = LBFGS(model.parameters(), max_iter=4)
    x, y = torch.randn(8, 3), torch.randn(8, 2)
    expected = []

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss: Tensor = (model(x) - y).square().mean()
        loss.backward()  # type: ignore[no-untyped-call]
        expected.append(norm(grads(model)))
        return loss

    with measured() as book:
        optimizer.step(closure)  # type: ignore[no-untyped-call]
    assert book.audit.tally.steps == 1
    assert len(expected) > 2
    assert book.norms() == close_to(*expected)
    assert [told.step for told in book.of(NORM)] == list(range(1, len(expected) + 1))


class Sam(Optimizer):
    """Sharpness-aware, round another optimizer."""

    def __init__(self, parameters: Iterable[Tensor], base: type[SGD]) -> None:
        super().__init__(parameters, {})
        self.base = base(self.param_groups, lr=0.1)

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        assert closure is not None
        held = [p for group in self.param_groups for p in group["params"]]
        with torch.no_grad():
            moves = [0.01 * p.grad for p in held]
            for p, move in zip(held, moves, strict=True):
                p.add_(move)
        with torch.enable_grad():
            closure()
        with torch.no_grad():
            for p, move in zip(held, moves, strict=True):
                p.sub_(move)
        self.base.step()


def test_of_an_optimizer_in_another_the_inner_one_spends() -> None:
    model = mlp(6, 5, 1)
    optimizer = Sam(model.parameters(), SGD)
    expected = []

    def closure() -> None:
        optimizer.zero_grad()
        deposit(model)
        expected.append(norm(grads(model)))

    with measured() as book:
        for _ in range(3):
            optimizer.zero_grad()
            deposit(model)
            optimizer.step(closure)
    assert {told.optimizer for told in book.all} == {"optimizer-2"}
    assert book.norms("optimizer-2") == close_to(*expected)


@pytest.mark.parametrize("pack", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_of_a_stepper_the_window_is_measured_divided_unscaled_and_unclipped(
    pack: bool, scaled: bool
) -> None:
    mine, theirs = mlp(6, 5, 4, 1), mlp(6, 5, 4, 1)
    ours = SGD(mine.parameters(), lr=0.1)
    reference = SGD(theirs.parameters(), lr=0.1)
    sizes, expected, ratios = [4, 2, 3, 1, 4], [], []
    data = [torch.randn(size, 6) for size in sizes]
    for window in (data[:2], data[2:4], data[4:]):
        rows = torch.cat(window)
        theirs(rows).square().mean().backward()
        expected.append(norm(grads(theirs)))
        before = [p.detach().clone() for p in theirs.parameters()]
        clip_grad_norm_(theirs.parameters(), 0.01)
        reference.step()
        reference.zero_grad()
        after = zip(theirs.parameters(), before, strict=True)
        ratios.append(norm([new - old for new, old in after]) / norm(before))
    scaler = GradScaler("cpu", init_scale=64.0) if scaled else None
    with measured() as book:
        stepper = Stepper(mine, ours, accumulate=2, clip_norm=0.01, scaler=scaler, pack=pack)
        for x in stepper.over(data):
            stepper.backward(mine(x).square().mean(), items=len(x))
    assert book.norms() == pytest.approx(expected, rel=1e-4)
    assert [told.total for told in book.of(RATIO)] == pytest.approx(ratios, rel=1e-2)
    assert set(book.of(NORM)[0].cells) == {f"mine.{name}" for name, _ in mine.named_parameters()}


def test_of_a_stepper_that_spends_at_once_every_gradient_is_measured() -> None:
    model = mlp(6, 5, 4, 1)
    twin = mlp(6, 5, 4, 1)
    twin.load_state_dict(model.state_dict())
    optimizer = SGD(model.parameters(), lr=0.1)
    data = [torch.randn(4, 6) for _ in range(3)]
    expected = []
    with measured() as book:
        heard: list[Event] = []
        book.audit.journal.heard.append(lambda event, _: heard.append(event))
        stepper = Stepper(model, optimizer, release="eager", clip_value=1e-3)
        for x in stepper.over(data):
            twin.load_state_dict(model.state_dict())
            twin.zero_grad()
            with book.audit.journal.call():  # not the program's
                twin(x).square().mean().backward()
            expected.append(norm(grads(twin)))
            stepper.backward(model(x).square().mean())
    assert book.norms() == close_to(*expected)
    assert len(book.of(NORM)[0].cells) == 6
    assert len(book.of(RATIO)) == 3
    assert [len(event.cells) for event in heard if isinstance(event, Own)] == [6]


def test_a_window_that_a_stepper_skips_is_neither_counted_nor_measured() -> None:
    model = mlp(6, 1)
    optimizer = SGD(model.parameters(), lr=0.1)
    with measured() as book:
        stepper = Stepper(model, optimizer, scaler=GradScaler("cpu", init_scale=2.0))
        for factor in stepper.over([1.0, math.inf, 1.0]):
            stepper.backward(model(torch.randn(2, 6)).square().mean() * factor)
    assert (stepper.updates, stepper.skipped) == (2, 1)
    assert [told.step for told in book.of(NORM)] == [1, 2]


def test_what_a_stepper_skipped_has_no_part_in_its_next_step() -> None:
    left, right = mlp(6, 5), mlp(6, 5)
    optimizer = SGD([*left.parameters(), *right.parameters()], lr=0.1)
    x = torch.randn(4, 6)
    parts = torch.autograd.grad(right(x).square().mean(), list(right.parameters()))
    with measured() as book:
        stepper = Stepper(
            nn.ModuleList([left, right]), optimizer, scaler=GradScaler("cpu", init_scale=2.0)
        )
        for net, factor in stepper.over([(left, math.inf), (right, 1.0)]):
            stepper.backward(net(x).square().mean() * factor)
    assert stepper.skipped == 1
    assert book.norms() == close_to(norm(parts))


class FailsOnce(SGD):
    """Its first step raises."""

    failed = False

    def step(self, closure: Any = None) -> Any:
        if not self.failed:
            self.failed = True
            raise ZeroDivisionError
        return super().step(closure)


@pytest.mark.parametrize("stepping", [False, True])
def test_a_step_that_raised_has_no_part_in_the_next(stepping: bool) -> None:
    model = mlp(6, 5)
    optimizer = FailsOnce(model.parameters(), lr=0.1)
    x = torch.randn(4, 6)
    expected = norm(torch.autograd.grad(model(x).square().mean(), list(model.parameters())))
    with measured() as book:
        stepper = Stepper(model, optimizer)
        for factor in stepper.over([3.0, 1.0]) if stepping else [3.0, 1.0]:
            optimizer.zero_grad()
            loss = model(x).square().mean() * factor
            with suppress(ZeroDivisionError):
                if stepping:
                    stepper.backward(loss)
                else:
                    loss.backward()
                    optimizer.step()
    assert optimizer.failed
    assert [told.step for told in book.of(NORM)] == [1]
    assert book.norms() == close_to(expected)


def test_of_two_optimizers_of_a_stepper_each_has_its_part() -> None:
    model = mlp(6, 5, 1)
    first, second = SGD(model[0].parameters(), lr=0.1), SGD(model[2].parameters(), lr=0.1)
    with measured() as book:
        stepper = Stepper(model, [first, second])
        x = torch.randn(4, 6)
        parts = torch.autograd.grad(model(x).square().mean(), list(model.parameters()))
        for _ in stepper.over([0]):
            stepper.backward(model(x).square().mean())
    assert book.norms("optimizer-1") == close_to(norm(parts[:2]))
    assert book.norms("optimizer-2") == close_to(norm(parts[2:]))


# Which steps -------------------------------------------------------------------------------------


def test_of_long_runs_ever_fewer_steps_are_told_of_each_parameter() -> None:
    due = [step for step in range(1, 4097) if is_due(step, 512)]
    assert due[:512] == list(range(1, 513))
    assert due[512:768] == list(range(514, 1025, 2))
    assert due[768:1024] == list(range(1028, 2049, 4))
    assert due[1024:] == list(range(2056, 4097, 8))
    assert [step for step in range(1, 200) if is_due(step, 64)][64:] == [
        *range(66, 129, 2),
        *range(132, 200, 4),
    ]


def test_every_step_has_a_total_and_some_have_more(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (EACH_NORM, EACH_RATIO) == (512, 64)
    monkeypatch.setattr(measuring_module, "EACH_NORM", 8)
    monkeypatch.setattr(measuring_module, "EACH_RATIO", 2)
    model = mlp(3, 1)
    optimizer = SGD(model.parameters(), lr=0.01)
    with measured() as book:
        for _ in range(20):
            optimizer.zero_grad()
            deposit(model)
            optimizer.step()
    norms = book.of(NORM)
    assert [told.step for told in norms] == list(range(1, 21))
    assert [told.step for told in norms if told.cells] == [*range(1, 9), 10, 12, 14, 16, 20]
    assert [told.step for told in book.of(RATIO)] == [1, 2, 4, 8, 16]


def test_with_a_sample_the_steps_of_the_books_are_counted() -> None:
    book = Book()
    book.audit._sample = 10
    model = mlp(3, 1)
    optimizer = SGD(model.parameters(), lr=0.01)
    with book.audit:
        for _ in range(150):
            optimizer.zero_grad()
            deposit(model)
            optimizer.step()
    steps = book.audit.tally.steps
    assert 100 <= steps < 120
    assert [told.step for told in book.of(NORM)] == list(range(1, steps + 1))


# Update ratios -----------------------------------------------------------------------------------


def test_the_update_ratio_of_sgd_is_the_learning_rate_times_gradient_over_weight() -> None:
    model = mlp(6, 5, 1).double()
    optimizer = SGD(model.parameters(), lr=0.25)
    expected, each = [], []
    with measured() as book:
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(4, 6, dtype=torch.float64)).square().mean().backward()
            named = list(model.named_parameters())
            each.append({f"model.{n}": 0.25 * norm([p.grad]) / norm([p]) for n, p in named})
            expected.append(0.25 * norm(grads(model)) / norm(model.parameters()))
            optimizer.step()
    ratios = book.of(RATIO)
    assert [told.total for told in ratios] == pytest.approx(expected, rel=1e-12)
    for told, one in zip(ratios, each, strict=True):
        assert told.cells == pytest.approx(one, rel=1e-12)


def move(parameters: list[nn.Parameter], by: Callable[[Tensor], Tensor]) -> Measured:
    """Of one step that moves each parameter by that much."""
    with measured() as book:
        optimizer = SGD(parameters, lr=1.0)
        for p in parameters:
            p.grad = -by(p.detach())
        optimizer.step()
    (told,) = book.of(RATIO)
    return told


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.complex64], ids=str)
@pytest.mark.parametrize("format", [torch.contiguous_format, torch.channels_last], ids=str)
def test_a_sample_stands_for_a_large_parameter(
    dtype: torch.dtype, format: torch.memory_format
) -> None:
    torch.manual_seed(0)
    large = torch.randn(64, 64, 4, 4, dtype=dtype).to(memory_format=format)
    small = torch.randn(8, 8, 1, 1, dtype=dtype)
    parameters = [nn.Parameter(large), nn.Parameter(small)]
    told = move(parameters, lambda p: p / 8 if p.numel() > 64 else p / 2)
    ratios = sorted(told.cells.values())
    assert ratios == pytest.approx([1 / 8, 1 / 2], rel=1e-2)
    expected = norm([large / 8, small / 2]) / norm([large, small])
    assert told.total == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("shape", [(1,), (5, 5), (100, 100)])
def test_of_one_parameter_alone(shape: tuple[int, ...]) -> None:
    told = move(of_shape(shape), lambda p: p / 4)
    assert told.total == pytest.approx(0.25)


def test_in_sixteen_bits_a_change_does_not_overflow() -> None:
    large = torch.full((9,), 60_000.0, dtype=torch.float16)
    ((sample, sums),) = Before({0: large}).moves({0: -large})
    assert ratio(sample.as_moves(sums.tolist()).values()) == pytest.approx(2.0)


def test_a_sample_is_not_one_column_of_a_matrix() -> None:
    torch.manual_seed(0)
    matrix = nn.Parameter(torch.ones(4096, 1024))
    column = torch.zeros(4096, 1024)
    column[:, 0] = 1.0
    told = move([matrix], lambda p: column)
    assert told.total == pytest.approx(math.sqrt(1 / 1024), rel=0.3)
    assert moves._distance(4096 * 1024) == 1025
    assert all(moves._distance(n) * moves.WHOLE >= n for n in range(4097, 20_000, 37))


def test_of_zero_weights_there_is_no_ratio() -> None:
    with measured() as book:
        zero, one = nn.Parameter(torch.zeros(3)), nn.Parameter(torch.ones(3))
        optimizer = SGD([zero, one], lr=0.5)
        for p in (zero, one):
            p.grad = torch.ones(3)
        optimizer.step()
        optimizer.step()
    first, second = book.of(RATIO)
    assert first.cells == {"one": 0.5}
    assert first.total == pytest.approx(math.sqrt(0.5))  # of all together, there was something
    assert set(second.cells) == {"zero", "one"}


def test_a_parameter_that_is_a_part_of_something_larger_is_left_out_rather_than_copied() -> None:
    whole = torch.randn(200, 200)
    part = whole[:, :100].requires_grad_()
    small = torch.randn(10, 10)[:, :5].requires_grad_()
    with measured() as book:
        optimizer = SGD([part, small], lr=0.5)
        for p in (part, small):
            p.grad = p.detach().clone()
        optimizer.step()
    assert book.of(RATIO)[0].cells == pytest.approx({"small": 0.5})


# Without a trace ---------------------------------------------------------------------------------


def trained(path: Path | None) -> tuple[list[Tensor], Tensor]:
    torch.manual_seed(0)
    model = nn.Sequential(mlp(6, 30, 30), nn.Dropout(0.3), nn.Linear(30, 1))
    optimizer = AdamW(model.parameters(), amsgrad=True)
    scaler = GradScaler("cpu", init_scale=2.0**10, growth_interval=3)
    with gradledger.audit(record=path) if path else gradledger.audit():
        for turn in range(12):
            optimizer.zero_grad(set_to_none=turn % 2 == 0)
            for _ in range(2):
                deposit(model, scaler, times=math.inf if turn == 5 else 1.0)
            if turn % 3:
                scaler.unscale_(optimizer)
                clip_grad_norm_(model.parameters(), 0.05)
            scaler.step(optimizer)
            scaler.update()
    state = [part for s in optimizer.state.values() for part in s.values()]
    return [*model.parameters(), *state], torch.random.get_rng_state()


def test_what_is_recorded_changes_no_bit_and_draws_no_number(tmp_path: Path) -> None:
    plain, rng = trained(None)
    recorded, rng_recorded = trained(tmp_path / "run.gradledger")
    assert rng.equal(rng_recorded)
    assert all(a.equal(b) for a, b in zip(plain, recorded, strict=True))
    with Recording(tmp_path / "run.gradledger") as recording:
        assert len(list(recording.events(Skipped))) == 1
        assert len(list(recording.measures(Series(NORM, "optimizer-1")))) == 11


def states(model: nn.Module) -> list[tuple[int, int, int]]:
    """Identity and version of each gradient, and the version of its parameter."""
    return [
        (id(p.grad), p.grad._version, p._version) for p in model.parameters() if p.grad is not None
    ]


def test_a_gradient_keeps_its_identity_and_its_version() -> None:
    model = mlp(6, 5, 1)
    optimizer = SGD(model.parameters(), lr=0.0)
    seen = []
    optimizer.register_step_pre_hook(lambda *_: seen.append(states(model)))
    with measured() as book:
        deposit(model)
        before = states(model)
        assert book.audit._measuring is not None
        book.audit._measuring.clips(list(model.parameters()))
        optimizer.step()
        after = states(model)
    assert len(book.of(NORM)) == len(book.of(RATIO)) == 1
    assert seen == [before]
    assert [state[:2] for state in after] == [state[:2] for state in before]


def die(refs: list[list[weakref.ref[Tensor]]]) -> None:
    # Without an assert: pytest's own look at the variables here would keep them alive.
    model = mlp(6, 5, 1)
    optimizer = SGD(model.parameters(), lr=0.1)
    deposit(model)
    refs.append([weakref.ref(grad) for grad in grads(model) if grad is not None])
    clip_grad_norm_(model.parameters(), 0.01)
    optimizer.step()
    optimizer.zero_grad()
    refs.append([ref for ref in refs[0] if ref() is not None])
    refs.append([weakref.ref(p) for p in model.parameters()])
    del model, optimizer
    gc.collect()
    refs.append([ref for ref in refs[2] if ref() is not None])


def test_gradients_and_parameters_die_when_they_would() -> None:
    refs: list[list[weakref.ref[Tensor]]] = []
    with measured() as book:
        die(refs)
    assert len(book.of(NORM)) == len(book.of(RATIO)) == 1
    assert list(map(len, refs)) == [4, 0, 4, 0]


def test_a_bug_in_measuring_ends_the_audit_and_never_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> Any:
        raise ZeroDivisionError("a bug of ours")

    for name in ("norms", "is_due", "Before"):
        model = mlp(6, 5, 1)
        optimizer = SGD(model.parameters(), lr=0.1)
        book = Book()
        with book.audit, monkeypatch.context() as patched:
            patched.setattr(measuring_module, name, broken)
            for _ in range(3):
                deposit(model)
                clip_grad_norm_(model.parameters(), 0.01)
                optimizer.step()
                optimizer.zero_grad()
        assert "ZeroDivisionError" in book.audit.verdict("a test").trouble


def test_audits_in_one_another_measure_the_same() -> None:
    model = mlp(6, 5, 1)
    optimizer = SGD(model.parameters(), lr=0.1)
    with measured() as outer, measured() as inner:
        for _ in range(3):
            deposit(model)
            clip_grad_norm_(model.parameters(), 0.01)
            optimizer.step()
            optimizer.zero_grad()
    assert outer.norms() == inner.norms()
    assert len(outer.norms()) == 3

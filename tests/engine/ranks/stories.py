"""Short programs for every rank: each runs to its end, and then claims what must be so."""

from __future__ import annotations

import gc
import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.debug import CommDebugMode
from torch.nn.parallel import DistributedDataParallel
from torch.optim import SGD, AdamW
from torch.optim.lr_scheduler import StepLR

from gradledger import (
    CheckpointError,
    LossError,
    MisuseError,
    NonFiniteGradient,
    Stepper,
    StepperWarning,
)
from tests.engine.loops import Batch, Layers, big_batches, merged, micro_batches, mse, net

Spread: TypeAlias = Callable[[nn.Module], Any]


def replicate(model: nn.Module, **options: Any) -> DistributedDataParallel:
    return DistributedDataParallel(model, **options)


def shard(model: nn.Module, **options: Any) -> Any:
    for part in model.children():
        if any(True for _ in part.parameters()):
            fully_shard(part, **options)
    return fully_shard(Cloned(model), **options)


class Cloned(nn.Module):
    """Gives no views, of which FSDP2 warns."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *args: Any) -> Tensor:
        out: Tensor = self.inner(*args).clone()
        return out


def whole(p: Tensor) -> Tensor:
    full: Tensor = p.full_tensor() if isinstance(p, DTensor) else p
    return full.detach().clone()


def weights(model: nn.Module) -> list[Tensor]:
    return [whole(p) for p in model.parameters()]


def close(model: nn.Module, reference: nn.Module) -> None:
    for mine, theirs in zip(weights(model), reference.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs.detach(), rtol=1e-12, atol=1e-12)
    same(model)


def same(model: nn.Module) -> None:
    """Bit for bit on all ranks."""
    mine = torch.cat([p.flatten() for p in weights(model)])
    every = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(every, mine)
    assert all(torch.equal(each, mine) for each in every)


def mine(*sizes: int, seed: int = 0) -> list[Batch]:
    return micro_batches(*sizes, seed=seed + dist.get_rank())


def every(*sizes: int, seed: int = 0) -> list[list[Batch]]:
    """For each place, the batches that the ranks have there."""
    ranks = range(dist.get_world_size())
    return [
        list(b) for b in zip(*(micro_batches(*sizes, seed=seed + r) for r in ranks), strict=True)
    ]


@contextmanager
def raises(kind: type[BaseException], *words: str) -> Iterator[None]:
    with pytest.raises(kind) as told:
        yield
    assert all(word in str(told.value) for word in words), str(told.value)


# Both -----------------------------------------------------------------------------------------


def gradients_travel_in_the_last_micro_batch_only(spread: Spread) -> None:
    model = spread(net())
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=4)
    counts: list[dict[str, int]] = []
    for x, y in stepper.over(mine(*[2] * 12)):
        with CommDebugMode() as comm:  # type: ignore[no-untyped-call]
            loss = (model(x) - y).square().mean()
            stepper.backward(loss, items=len(y))
        counts.append({str(k): v for k, v in comm.get_comm_counts().items()})
    moved = [
        sum(v for k, v in each.items() if "reduce" in k and "gather" not in k) for each in counts
    ]
    ddp = isinstance(model, DistributedDataParallel)
    # Once, in the very beginning, FSDP2's ranks agree on a unit.
    assert all(n == 0 for i, n in enumerate(moved) if i % 4 != 3 and (i or ddp)), counts
    # DDP: one bucket, and the numbers. FSDP2: one for each layer, the numbers, and the norm.
    assert moved[7] == moved[11] == (2 if ddp else 4), counts


def one_scaler_decision_for_all(spread: Spread) -> None:
    ours, theirs = net(), net()
    model = spread(ours)
    options: dict[str, Any] = {"init_scale": 2.0**12, "growth_interval": 2}
    a, b = GradScaler("cpu", **options), GradScaler("cpu", **options)
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2, scaler=a, clip_norm=0.1)
    single = Stepper(theirs, SGD(theirs.parameters(), 0.1), scaler=b, clip_norm=0.1, pack=False)
    data, all_data = mine(*[3] * 12), every(*[3] * 12)
    last = dist.get_world_size() - 1
    all_data[4][last][0].fill_(torch.inf)
    if dist.get_rank() == last:
        data[4][0].fill_(torch.inf)
    for x, y in stepper.over(data):
        stepper.backward((model(x) - y).square().mean(), items=len(y))
    for i in range(0, 12, 2):
        big = merged([*all_data[i], *all_data[i + 1]])
        single.backward(mse(theirs, big), items=len(big[1]))
    assert (stepper.updates, stepper.skipped) == (single.updates, single.skipped) == (5, 1)
    assert a.get_scale() == b.get_scale()
    close(model, theirs)


def several_losses_count_together(spread: Spread) -> None:
    ours, theirs = net(), net()
    model = spread(ours)
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2)
    for x, y in stepper.over(mine(2, 3, 1, 4)):
        out = model(x)
        stepper.backward(out.square().mean(), items=len(y), more=True, retain_graph=True)
        stepper.backward((out - y).square().mean(), items=len(y))
    each = every(2, 3, 1, 4)
    both = lambda m, b: mse(m, b) + m(b[0]).square().mean()  # noqa: E731
    big_batches(
        theirs, SGD(theirs.parameters(), 0.1), [each[0] + each[1], each[2] + each[3]], loss=both
    )
    close(model, theirs)
    assert stepper.updates == 2


def a_loop_without_over_is_flushed(spread: Spread) -> None:
    ours, theirs = net(), net()
    model = spread(ours)
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2)
    told = []
    for x, y in mine(2, 3, 1):
        told.append(stepper.backward((model(x) - y).square().mean(), items=len(y)))
    assert told == [False, True, False]
    assert stepper.flush() is True
    assert stepper.flush() is False
    each = every(2, 3, 1)
    big_batches(theirs, SGD(theirs.parameters(), 0.1), [each[0] + each[1], each[2]])
    close(model, theirs)


def a_window_left_open_is_spent_by_the_next_pass(spread: Spread) -> None:
    ours, theirs = net(), net()
    model = spread(ours)
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2)
    for i, (x, y) in enumerate(stepper.over(mine(2, 3, 1, 4))):
        stepper.backward((model(x) - y).square().mean(), items=len(y))
        if i == 2:
            break
    for x, y in stepper.over(mine(2, seed=7)):
        stepper.backward((model(x) - y).square().mean(), items=len(y))
    a, b = every(2, 3, 1, 4), every(2, seed=7)
    big_batches(theirs, SGD(theirs.parameters(), 0.1), [a[0] + a[1], a[2], b[0]])
    close(model, theirs)


def dropped_by_one_is_dropped_by_all(spread: Spread) -> None:
    ours, theirs = net(), net()
    model = spread(ours)
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i, (x, y) in enumerate(stepper.over(mine(2, 3, 1, 4, 2))):
            stepper.backward((model(x) - y).square().mean(), items=len(y))
            if i == 1 and dist.get_rank() == 1:
                stepper.drop()
    each = every(2, 3, 1, 4, 2)
    big_batches(theirs, SGD(theirs.parameters(), 0.1), [each[3] + each[4]])
    close(model, theirs)
    assert (stepper.updates, stepper.dropped) == (1, 1)
    warned = [str(w.message) for w in caught if w.category is StepperWarning]
    assert len(warned) == (dist.get_rank() != 1), warned
    assert all("rank 1" in text for text in warned)


def not_finite_on_one_raises_on_all(spread: Spread) -> None:
    model = spread(net())
    stepper = Stepper(model, SGD(model.parameters(), 0.1), on_nonfinite="raise")
    before = weights(model)
    data = mine(2, 3)
    if dist.get_rank() == 1:
        data[0][0].fill_(torch.nan)
    batches = stepper.over(data)
    x, y = next(batches)
    with raises(NonFiniteGradient, "rank 1", "0.weight"):
        stepper.backward((model(x) - y).square().mean(), items=len(y))
    assert all(torch.equal(a, b) for a, b in zip(before, weights(model), strict=True))
    for x, y in batches:
        stepper.backward((model(x) - y).square().mean(), items=len(y))
    assert (stepper.updates, stepper.skipped) == (1, 1)
    same(model)


def items_on_one_rank_only_raise_on_all(spread: Spread) -> None:
    model = spread(net())
    stepper = Stepper(model, SGD(model.parameters(), 0.1))
    (x, y), *_ = mine(2)
    with raises(LossError, "1 of 2" if dist.get_world_size() == 2 else "of 3"):
        loss = (model(x) - y).square().mean()
        stepper.backward(loss, items=None if dist.get_rank() == 1 else 2)
    assert stepper.backward((model(x) - y).square().mean(), items=2)


def schedulers_and_norms_are_those_of_the_big_batch(spread: Spread) -> None:
    ours, theirs = net(), net()
    model = spread(ours)
    optimizer, reference = SGD(model.parameters(), 0.1), SGD(theirs.parameters(), 0.1)
    scheduler = StepLR(optimizer, 1, 0.5)
    stepper = Stepper(model, optimizer, accumulate=2, scheduler=scheduler)
    for x, y in stepper.over(mine(2, 3, 1)):
        stepper.backward((model(x) - y).square().mean(), items=len(y))
    each = every(2, 3, 1)
    big_batches(
        theirs, reference, [each[0] + each[1], each[2]], scheduler=StepLR(reference, 1, 0.5)
    )
    close(model, theirs)
    copy = net()
    copy.load_state_dict(theirs.state_dict())
    assert stepper.grad_norm is not None
    assert optimizer.param_groups[0]["lr"] == 0.1 * 0.25


def buffers_of_a_rank_without_data_stay(spread: Spread) -> None:
    inner = Layers(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)).double()
    model = spread(inner)
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2)
    rank = dist.get_rank()
    data = mine(*[3] * (5 if rank == 0 else 2))
    for _ in range(2):
        for x, y in stepper.over(data):
            stepper.backward((model(x) - y).square().mean(), items=len(y))
    assert stepper.updates == 6
    same(model)
    if not isinstance(model, DistributedDataParallel):
        assert int(inner[1].num_batches_tracked) == 2 * len(data)


def where_nobody_has_data_there_is_no_update(spread: Spread) -> None:
    model = spread(net())
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2)
    for _ in range(2):
        assert list(stepper.over([])) == []
    assert not stepper.flush()
    assert (stepper.updates, stepper.epoch) == (0, 2)
    close(model, net())


def a_stepper_that_is_resumed_goes_on_bit_for_bit(spread: Spread) -> None:
    """From the middle of a window, under DDP; between windows, under FSDP2."""
    sizes = (2, 3, 1, 4, 2, 5, 3)
    at = 2 if spread is replicate else 3

    def make() -> tuple[Any, Any, Stepper]:
        model = spread(net())
        optimizer = AdamW(model.parameters(), 0.01)
        return model, optimizer, Stepper(model, optimizer, accumulate=2, clip_norm=0.3)

    def train(model: Any, stepper: Stepper, save: Callable[[int], None]) -> None:
        while stepper.epoch < 2:
            for x, y in stepper.over(mine(*sizes)):
                stepper.backward((model(x) - y).square().mean(), items=len(y))
                save(stepper.epoch)

    saved: list[Any] = []
    seen = 0
    model, optimizer, stepper = make()

    def save(epoch: int) -> None:
        nonlocal seen
        seen += 1
        if seen == len(sizes) + at + 1:
            file = io.BytesIO()
            states = [model.state_dict(), optimizer.state_dict(), stepper.state_dict()]
            torch.save(states, file)
            saved.append(file)

    train(model, stepper, save)
    again, other, resumed = make()
    saved[0].seek(0)
    states = torch.load(saved[0], weights_only=False)
    again.load_state_dict(states[0])
    other.load_state_dict(states[1])
    resumed.load_state_dict(states[2])
    train(again, resumed, lambda epoch: None)
    assert all(torch.equal(a, b) for a, b in zip(weights(model), weights(again), strict=True))
    assert resumed.updates == stepper.updates == 8


# DDP ------------------------------------------------------------------------------------------


class Branches(nn.Module):
    """A trunk, and two branches of which a batch takes one."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.trunk = nn.Linear(5, 4).double()
        self.left, self.right = nn.Linear(4, 3).double(), nn.Linear(4, 3).double()

    def forward(self, x: Tensor, way: str) -> Tensor:
        out: Tensor = (self.left if way == "l" else self.right)(self.trunk(x).tanh())
        return out


def a_parameter_that_no_rank_reaches_does_not_move() -> None:
    for options in ({}, {"find_unused_parameters": True}, {"bucket_cap_mb": 0.0001}):
        _branches(options)


def _branches(options: dict[str, Any]) -> None:
    ours, theirs = Branches(), Branches()
    model = replicate(ours, **options)

    def make(module: nn.Module) -> SGD:
        return SGD(module.parameters(), 0.1, momentum=0.9, weight_decay=0.1)

    stepper = Stepper(model, make(model), accumulate=2)
    ways = {0: "llrlll", 1: "lllrll", 2: "llllll"}
    ranks, rank = dist.get_world_size(), dist.get_rank()
    for (x, y), way in zip(stepper.over(mine(*[2] * 6)), ways[rank], strict=True):
        stepper.backward((model(x, way) - y).square().mean(), items=len(y))
    reference = make(theirs)
    each = every(*[2] * 6)
    for i in (0, 2, 4):
        reference.zero_grad()
        for j in (i, i + 1):
            for r in range(ranks):
                x, y = each[j][r]
                loss = (theirs(x, ways[r][j]) - y).square().mean() / (2 * ranks)
                torch.autograd.backward(loss)
        reference.step()
    close(model, theirs)


def sums_of_bf16_are_kept_in_float32() -> None:
    class One(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.p = nn.Parameter(torch.zeros(3, dtype=torch.bfloat16))

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = (self.p * x).sum()
            return out

    inner = One()
    model = replicate(inner)
    stepper = Stepper(model, SGD(model.parameters(), 1.0), accumulate=257)
    for x in stepper.over([torch.ones(3, dtype=torch.bfloat16)] * 257):
        stepper.backward(model(x))
    # There is no 257 in bf16: added up or sent in it, it would be 256.
    assert torch.equal(inner.p, torch.full_like(inner.p, -1.0)), inner.p
    assert stepper.updates == 1


def memory_that_runs_out_on_one_rank_changes_nothing() -> None:
    ours, theirs = net(), net()
    model = replicate(ours)
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2)
    rank = dist.get_rank()

    def loss_fn(batch: Batch) -> Tensor:
        if rank == 1 and len(batch[1]) > 3:
            raise torch.OutOfMemoryError("out of memory")
        return mse(model, batch)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for batch in stepper.over(mine(2, 7, 4)):
            stepper.run(batch, loss_fn)
    each = every(2, 7, 4)
    big_batches(theirs, SGD(theirs.parameters(), 0.1), [each[0] + each[1], each[2]])
    close(model, theirs)
    assert len(caught) == (rank == 1)


def two_nets_do_not_leak() -> None:
    ours, theirs = (net(0), net(1)), (net(0), net(1))
    a, b = replicate(ours[0]), replicate(ours[1])
    first = Stepper(a, SGD(a.parameters(), 0.1), accumulate=2)
    second = Stepper(b, SGD(b.parameters(), 0.1), accumulate=3)
    head = torch.linspace(-1, 1, 15, dtype=torch.float64).reshape(3, 5)
    for x, y in first.over(second.over(mine(2, 3, 1, 4, 2, 2))):
        made = a(x)
        second.backward((b(made @ head) - y).square().mean(), items=len(y))
        first.backward((b(a(x) @ head) + y).square().mean(), items=len(y))
    each = every(2, 3, 1, 4, 2, 2)
    optimizers = [SGD(m.parameters(), 0.1) for m in theirs]
    sums: list[list[Tensor]] = [[], []]
    items = [0, 0]
    for i, batches in enumerate(each):
        for which, sign in ((1, -1), (0, 1)):
            for x, y in batches:
                loss = (theirs[1](theirs[0](x) @ head) + sign * y).square().mean() * len(y)
                found = torch.autograd.grad(loss, list(theirs[which].parameters()))
                old = sums[which] or [torch.zeros_like(g) for g in found]
                sums[which] = [s + g for s, g in zip(old, found, strict=True)]
                items[which] += len(y)
            if (i + 1) % (2 + which) == 0:
                for p, total in zip(theirs[which].parameters(), sums[which], strict=True):
                    p.grad = total / items[which]
                optimizers[which].step()
                sums[which], items[which] = [], 0
    close(a, theirs[0])
    close(b, theirs[1])


def buffers_are_those_of_rank_0_however_many_forwards_a_rank_has() -> None:
    inner = Layers(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)).double()
    model = replicate(inner)
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2)
    for x, y in stepper.over(mine(*[3] * (2 * dist.get_rank() + 1))):
        loss = (model(x) - model(-x) - y).square().mean()
        stepper.backward(loss, items=len(y))
    same(model)
    found = torch.cat([b.flatten().double() for b in inner.buffers()])
    expected = found.clone()
    dist.broadcast(expected, 0)
    assert torch.equal(found, expected)
    assert int(inner[1].num_batches_tracked) == 2  # rank 0 has one micro-batch


def a_plain_loop_after_it_still_averages() -> None:
    ours = net()
    model = replicate(ours)
    optimizer = SGD(model.parameters(), 0.1)
    stepper = Stepper(model, optimizer)
    (batch,) = mine(4)
    stepper.backward(mse(model, batch))
    del stepper
    torch.autograd.backward(mse(model, batch))
    expected = net()
    expected.load_state_dict(ours.state_dict())
    torch.autograd.backward(mse(expected, merged(every(4)[0])))
    for p, q in zip(ours.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad, rtol=1e-12, atol=1e-12)
    optimizer.zero_grad()
    again = Stepper(model, optimizer)  # the place of the hook is taken, by ourselves
    assert again.backward(mse(model, batch))


def a_forward_past_ddp_is_exact_all_the_same() -> None:
    ours, theirs = net(), net()
    model = replicate(ours)
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2)
    for batch in stepper.over(mine(2, 3, 1, 4)):
        stepper.backward(mse(ours, batch), items=len(batch[1]))
    each = every(2, 3, 1, 4)
    big_batches(theirs, SGD(theirs.parameters(), 0.1), [each[0] + each[1], each[2] + each[3]])
    close(model, theirs)


def data_that_is_longer_than_it_says_is_told() -> None:
    class Liar(list[Batch]):
        def __len__(self) -> int:
            return 2

    model = replicate(net())
    stepper = Stepper(model, SGD(model.parameters(), 0.1))
    batches = stepper.over(Liar(mine(2, 2, 2)))
    for _ in range(2):
        stepper.backward(mse(model, next(batches)))
    with raises(MisuseError, "len()"):
        next(batches)


# FSDP2 ----------------------------------------------------------------------------------------


def low_precision_is_reduced_in_float32() -> None:
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    inner = Layers(nn.Linear(1, 1, bias=False))
    nn.init.zeros_(inner[0].weight)
    model = shard(inner, mp_policy=policy)
    stepper = Stepper(model, SGD(model.parameters(), 1.0), accumulate=300)
    for x in stepper.over([torch.ones(1, 1)] * 300):
        stepper.backward(model(x).sum().float())
    assert [p.item() for p in weights(model)] == [-1.0]


def what_can_not_go_in_step_is_refused() -> None:
    model = shard(net())
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2)
    (batch,) = mine(2)
    with raises(MisuseError, "pieces"):
        stepper.run(batch, lambda b: mse(model, b))
    with raises(CheckpointError, "shared_state_dict"):
        stepper.save("nowhere")


def what_is_half_in_fsdp_is_not_saved_by_a_rank_alone() -> None:
    model = shard(net())
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2)
    (x, y), *_ = mine(2)
    stepper.backward((model(x) - y).square().mean(), items=2)
    with raises(CheckpointError, "1 of 2 micro-batches"):
        stepper.state_dict()
    stepper.backward((model(x) - y).square().mean(), items=2)
    assert stepper.state_dict()["counts"]["updates"] == 1


def a_model_is_not_kept_by_the_stepper_it_had() -> None:
    model = shard(net())
    before = len(model._forward_pre_hooks), len(model._forward_hooks)
    stepper = Stepper(model, SGD(model.parameters(), 0.1))
    assert (len(model._forward_pre_hooks), len(model._forward_hooks)) > before
    del stepper
    gc.collect()
    assert (len(model._forward_pre_hooks), len(model._forward_hooks)) == before


BOTH = [
    gradients_travel_in_the_last_micro_batch_only,
    one_scaler_decision_for_all,
    several_losses_count_together,
    a_loop_without_over_is_flushed,
    a_window_left_open_is_spent_by_the_next_pass,
    dropped_by_one_is_dropped_by_all,
    not_finite_on_one_raises_on_all,
    items_on_one_rank_only_raise_on_all,
    schedulers_and_norms_are_those_of_the_big_batch,
    buffers_of_a_rank_without_data_stay,
    where_nobody_has_data_there_is_no_update,
    a_stepper_that_is_resumed_goes_on_bit_for_bit,
]
REPLICAS = [
    a_parameter_that_no_rank_reaches_does_not_move,
    sums_of_bf16_are_kept_in_float32,
    memory_that_runs_out_on_one_rank_changes_nothing,
    two_nets_do_not_leak,
    buffers_are_those_of_rank_0_however_many_forwards_a_rank_has,
    a_plain_loop_after_it_still_averages,
    a_forward_past_ddp_is_exact_all_the_same,
    data_that_is_longer_than_it_says_is_told,
]
SHARDS = [
    low_precision_is_reduced_in_float32,
    what_can_not_go_in_step_is_refused,
    what_is_half_in_fsdp_is_not_saved_by_a_rank_alone,
    a_model_is_not_kept_by_the_stepper_it_had,
]

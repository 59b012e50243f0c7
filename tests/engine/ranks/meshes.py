"""Models spread over four ranks in two ways at once: tensor parallel, sharded, replicated."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.optim import AdamW

from gradledger import OptionError, Stepper, StepperWarning
from tests.engine.loops import Batch, Layers, assert_equal, big_batches, micro_batches
from tests.engine.ranks.stories import close, raises, weights

ACCUMULATE = 3


class Net(nn.Module):
    """Two layers that can be cut, and a norm that every rank has whole."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            # Twelve: as many for each of two, three and four ranks.
            self.layers = Layers(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 3)).double()
            self.norm = nn.LayerNorm(3).double()

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.norm(self.layers(x)).clone()
        return out


@dataclass
class Spread:
    """A model over all ranks; `place`: which part of the data this rank has, of how many."""

    model: Any
    place: int
    parts: int


def tensor_parallel() -> Spread:
    return Spread(_cut(Net(), init_device_mesh("cpu", (dist.get_world_size(),))), 0, 1)


def sharded_and_tensor_parallel() -> Spread:
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    model: Any = _cut(Net(), mesh["tp"])
    for part in (model.norm, model):
        fully_shard(part, mesh=mesh["dp"])
    return Spread(model, mesh["dp"].get_local_rank(), 2)


def sharded_and_replicated() -> Spread:
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicas", "shards"))
    model: Any = Net()
    for part in (model.layers[0], model.layers[2], model):
        fully_shard(part, mesh=mesh)
    return Spread(model, dist.get_rank(), 4)


def _cut(model: Net, mesh: Any) -> Net:
    plan: dict[str, Any] = {"layers.0": ColwiseParallel(), "layers.2": RowwiseParallel()}
    parallelize_module(model, mesh, plan)
    return model


Make = Callable[[], Spread]
KINDS: tuple[Make, ...] = (tensor_parallel, sharded_and_tensor_parallel, sharded_and_replicated)


class Run:
    """A Stepper over a spread model, and the data of all its parts."""

    def __init__(self, make: Make, sizes: Sequence[Sequence[int]], **options: Any) -> None:
        self.spread = make()
        self.model = self.spread.model
        self.optimizer = AdamW(self.model.parameters(), 0.01, eps=1e-3)
        self.stepper = Stepper(self.model, self.optimizer, accumulate=ACCUMULATE, **options)
        self.parts = [micro_batches(*sizes[i], seed=i) for i in range(self.spread.parts)]

    @property
    def mine(self) -> list[Batch]:
        return self.parts[self.spread.place]

    def train(self, batches: Any) -> None:
        for x, y in batches:
            self.stepper.backward((self.model(x) - y).square().mean(), items=len(y))

    def expected(self, clip_norm: float = math.inf, without: Sequence[int] = ()) -> Net:
        """What one process makes of the big batches, some of them left out."""
        model = Net()
        optimizer = AdamW(model.parameters(), 0.01, eps=1e-3)
        longest = max(map(len, self.parts))
        windows = [
            [batch for part in self.parts for batch in part[i : i + ACCUMULATE]]
            for i in range(0, longest, ACCUMULATE)
        ]
        kept = [window for i, window in enumerate(windows) if i not in without]
        big_batches(model, optimizer, kept, clip_norm=clip_norm)
        return model


UNEQUAL = (
    (4, 1, 3, 2, 5, 1, 2),
    (2, 2, 5, 7, 1, 1, 3),
    (1, 6, 1, 2, 2, 3, 4),
    (3, 3, 1, 1, 4, 2, 1),
)


def the_update_is_that_of_one_big_batch(make: Make) -> None:
    for clip_norm in (0.05, math.inf):
        options = {} if clip_norm == math.inf else {"clip_norm": clip_norm}
        run = Run(make, UNEQUAL, **options)
        run.train(run.stepper.over(run.mine))
        assert run.stepper.updates == 3
        close(run.model, run.expected(clip_norm))


def the_norm_counts_each_number_once(make: Make) -> None:
    run = Run(make, [sizes[:3] for sizes in UNEQUAL])
    run.train(run.stepper.over(run.mine))
    alone = Net()
    x, y = (torch.cat(each) for each in zip(*(b for p in run.parts for b in p), strict=True))
    (alone(x) - y).square().mean().backward()
    norm = torch.nn.utils.get_total_norm([p.grad for p in alone.parameters() if p.grad is not None])
    assert run.stepper.grad_norm is not None
    assert math.isclose(run.stepper.grad_norm, float(norm), rel_tol=1e-12)


def data_that_ends_earlier_on_some_ranks_is_left_out(make: Make) -> None:
    run = Run(make, ((4, 1, 3, 2), (2, 2, 5, 7, 1, 1, 3), (1, 6), (3, 3, 1, 1, 4)))
    run.train(run.stepper.over(run.mine))
    close(run.model, run.expected())


def nan_on_one_rank_skips_the_window_on_all(make: Make) -> None:
    run = Run(make, UNEQUAL)
    run.parts[-1][4][0].fill_(torch.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StepperWarning)
        run.train(run.stepper.over(run.mine))
    assert (run.stepper.updates, run.stepper.skipped) == (2, 1)
    close(run.model, run.expected(without=[1]))


def a_micro_batch_without_a_loss_is_left_out_or_its_window_dropped(make: Make) -> None:
    for on_fault in ("continue", "drop"):
        run = Run(make, UNEQUAL, on_fault=on_fault)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StepperWarning)
            for i, (x, y) in enumerate(run.stepper.over(run.mine)):
                loss = (run.model(x) - y).square().mean()
                if i != 4:
                    run.stepper.backward(loss, items=len(y))
        for part in run.parts:
            part[4] = (part[4][0][:0], part[4][1][:0])
        close(run.model, run.expected(without=[1] if on_fault == "drop" else []))


def a_window_saved_half_full_goes_on_bit_for_bit(make: Make) -> None:
    run, saved = Run(make, UNEQUAL, clip_norm=0.05), None
    for i, (x, y) in enumerate(run.stepper.over(run.mine)):
        run.stepper.backward((run.model(x) - y).square().mean(), items=len(y))
        if i == 4:
            state = (run.model.state_dict(), run.optimizer.state_dict())
            saved = copy.deepcopy((*state, run.stepper.shared_state_dict()))
    assert saved is not None
    again = Run(make, UNEQUAL, clip_norm=0.05)
    again.model.load_state_dict(saved[0])
    again.optimizer.load_state_dict(saved[1])
    again.stepper.load_shared_state_dict(saved[2])
    again.train(again.stepper.over(again.mine))
    assert_equal(weights(again.model), weights(run.model))
    close(again.model, again.expected(0.05))


def ranks_of_one_tensor_that_do_not_do_the_same_drop_the_window() -> None:
    run = Run(tensor_parallel, UNEQUAL)
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StepperWarning)
        for i, (x, y) in enumerate(run.stepper.over(run.mine)):
            loss = (run.model(x) - y).square().mean()
            items = len(y) + (i == 1 and dist.get_rank() == 2)
            run.stepper.backward(loss, items=items)
        told += [str(w.message) for w in caught]
    assert (run.stepper.updates, run.stepper.dropped) == (2, 1)
    close(run.model, run.expected(without=[0]))
    assert any("rank 1 3 with 8 items, rank 2 3 with 9 items" in each for each in told), told


def the_first_generation_of_fsdp_is_refused_with_what_to_use() -> None:
    model = FullyShardedDataParallel(Net(), device_id=torch.device("cpu"))
    with raises(OptionError, "fully_shard(model)"):
        Stepper(model, AdamW(model.parameters()))


ALONE: tuple[Callable[[], None], ...] = (
    ranks_of_one_tensor_that_do_not_do_the_same_drop_the_window,
    the_first_generation_of_fsdp_is_refused_with_what_to_use,
)
EACH: tuple[Callable[[Make], None], ...] = (
    the_update_is_that_of_one_big_batch,
    the_norm_counts_each_number_once,
    data_that_ends_earlier_on_some_ranks_is_left_out,
    nan_on_one_rank_skips_the_window_on_all,
    a_micro_batch_without_a_loss_is_left_out_or_its_window_dropped,
    a_window_saved_half_full_goes_on_bit_for_bit,
)


def stories() -> dict[str, Callable[[], Any]]:
    """Each of them over each mesh."""
    found: dict[str, Callable[[], Any]] = {story.__name__: story for story in ALONE}
    for story in EACH:
        for make in KINDS:
            found[f"{story.__name__} ({make.__name__})"] = partial(story, make)
    return found

"""A window that was saved anywhere goes on, on another number of ranks: as one big batch."""

from __future__ import annotations

import random
import warnings
from typing import Any, Literal, TypeAlias

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.nn.parallel import DistributedDataParallel
from torch.optim import SGD

from gradledger import Stepper, StepperWarning
from tests.engine.loops import Batch, assert_same, big_batches, micro_batches, net
from tests.engine.ranks.stories import Cloned, weights, whole

RANKS = 3
Turn: TypeAlias = list[tuple[Batch, bool]]
"""What each rank draws, and whether it comes to a loss."""


class Story:
    """A run in two parts: on some ranks, and then on others."""

    def __init__(self, seed: int, *, sharded: bool) -> None:
        chance = random.Random(f"{seed} {sharded}")
        self.sharded = sharded
        self.ranks = chance.choice([(2, 3), (3, 2), (1, 3), (3, 1)])
        self.accumulate = chance.randrange(1, 5)
        self.on_fault: Literal["continue", "drop"] = chance.choice(["continue", "drop"])
        self.clip_norm = chance.choice([0.5, 1e9])
        self.parts = [
            [self._turn(chance, ranks) for _ in range(chance.randrange(1, 7))]
            for ranks in self.ranks
        ]
        # It is saved by all ranks, after a loss.
        self.parts[0][-1] = [(batch, True) for batch, _ in self.parts[0][-1]]
        self.flushed = {i for i in range(len(self.parts[0]) - 1) if chance.random() < 0.15}

    def _turn(self, chance: random.Random, ranks: int) -> Turn:
        seeds = [chance.randrange(10**6) for _ in range(ranks)]
        return [
            (micro_batches(chance.randrange(1, 6), seed=seed)[0], chance.random() < 0.85)
            for seed in seeds
        ]

    def windows(self) -> list[list[Batch]]:
        """What each update is made of."""
        found: list[list[Batch]] = []
        window: list[Turn] = []
        turns = [*self.parts[0], *self.parts[1]]
        for i, turn in enumerate(turns):
            window.append(turn)
            if len(window) == self.accumulate or i in self.flushed or i + 1 == len(turns):
                whole = all(comes for each in window for _, comes in each)
                if whole or self.on_fault == "continue":
                    found.append([batch for each in window for batch, comes in each if comes])
                window = []
        return [window for window in found if window]

    def made(self, ranks: int, saved: dict[str, Any] | None) -> tuple[Any, Any, Stepper]:
        """Model, optimizer and Stepper on the first ranks."""
        model: Any = net()
        if saved is not None:
            with torch.no_grad():
                for p, value in zip(model.parameters(), saved["weights"], strict=True):
                    p.copy_(value)
        group = _groups()[ranks]
        if self.sharded:
            mesh = DeviceMesh.from_group(group, "cpu")
            for part in (model[0], model[2]):
                fully_shard(part, mesh=mesh)
            model = fully_shard(Cloned(model), mesh=mesh)
        else:
            model = DistributedDataParallel(model, process_group=group)
        optimizer = SGD(model.parameters(), 0.1, momentum=0.9)
        stepper = Stepper(
            model,
            optimizer,
            accumulate=self.accumulate,
            clip_norm=self.clip_norm,
            on_fault=self.on_fault,
        )
        if saved is not None:
            for p, state in zip(model.parameters(), saved["moments"], strict=True):
                optimizer.state[p] = {key: _like(value, p) for key, value in state.items()}
            names = {name.removeprefix("module."): p for name, p in model.named_parameters()}
            sums = {
                name: _like(value, names[name.removeprefix("module.")])
                for name, value in saved["shared"]["sums"].items()
            }
            stepper.load_shared_state_dict(saved["shared"] | {"sums": sums})
        return model, optimizer, stepper

    def train(self, which: int, model: Any, stepper: Stepper) -> None:
        """One part, on this rank; the first is left where it is saved."""
        rank = dist.get_rank()
        turns = [turn[rank] for turn in self.parts[which]]
        warnings.filterwarnings("ignore", "a window was dropped on all ranks", StepperWarning)
        for i, ((x, y), comes) in enumerate(stepper.over(turns)):
            loss = (model(x) - y).square().mean()
            if comes:
                stepper.backward(loss, items=len(y))
            if which == 0 and i in self.flushed:
                stepper.flush()
            if which == 0 and i + 1 == len(turns):
                break

    def first(self) -> dict[str, Any]:
        """Trains the first part, and saves."""
        model, optimizer, stepper = self.made(self.ranks[0], None)
        self.train(0, model, stepper)
        shared = stepper.shared_state_dict()
        return {
            "weights": weights(model),
            "moments": [
                {key: whole(value) for key, value in optimizer.state[p].items()}
                for p in model.parameters()
            ],
            "shared": shared | {"sums": {k: whole(v) for k, v in shared["sums"].items()}},
        }


def goes_on_elsewhere(seed: int, *, sharded: bool) -> None:
    """All of the launch's ranks come here; some have only a part in it."""
    story = Story(seed, sharded=sharded)
    rank = dist.get_rank()
    _groups()
    saved: list[Any] = [story.first() if rank < story.ranks[0] else None]
    dist.broadcast_object_list(saved, 0)
    found: list[Any] = [None]
    if rank < story.ranks[1]:
        model, _, stepper = story.made(story.ranks[1], saved[0])
        story.train(1, model, stepper)
        found = [(weights(model), stepper.updates)]
    expected = net()
    optimizer = SGD(expected.parameters(), 0.1, momentum=0.9)
    each = story.windows()
    big_batches(expected, optimizer, each, clip_norm=story.clip_norm)
    if found[0] is not None:
        assert_same(found[0][0], list(expected.parameters()), tolerance=1e-10)
        assert found[0][1] == len(each), (found[0][1], len(each))
    dist.barrier()


def _like(value: Tensor, p: Tensor) -> Tensor:
    if isinstance(p, DTensor):
        return distribute_tensor(value, p.device_mesh, p.placements, src_data_rank=None)
    return value


_made: dict[int, Any] = {}


def _groups() -> dict[int, Any]:
    """The first ranks, by their number."""
    if not _made:
        _made.update({ranks: dist.new_group(list(range(ranks))) for ranks in range(1, RANKS + 1)})
    return _made

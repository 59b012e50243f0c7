"""Two nets with a Stepper each: ranks that do different things stay together, or all are told."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import torch.distributed as dist
from torch.optim import SGD

from gradledger import RankFailure, Stepper
from tests.engine.loops import Batch, Boom, big_batches, micro_batches, mse, net
from tests.engine.ranks.stories import close, raises, replicate

Way: TypeAlias = Literal["leaves", "goes on", "fails"]
"""A rank leaves the turn before both backwards; goes on to the second; or fails in the first."""
Ways: TypeAlias = Mapping[tuple[int, int], Way]
"""By rank and turn."""


class Unsized:
    """Data that does not say how long it is."""

    def __init__(self, batches: list[Batch]) -> None:
        self._batches = batches

    def __iter__(self) -> Any:
        return iter(self._batches)


def train(
    lengths: list[int],
    ways: Ways,
    *,
    accumulate: tuple[int, int] = (1, 1),
    outer: int = 0,
    sized: bool = True,
) -> None:
    """Trains both, and compares them with the big batches of what did not fail."""
    rank = dist.get_rank()
    models = [replicate(net(seed)) for seed in range(2)]
    first, second = steppers = [
        Stepper(model, SGD(model.parameters(), 0.1), accumulate=n)
        for model, n in zip(models, accumulate, strict=True)
    ]
    batches = micro_batches(*[2 + rank] * lengths[rank], seed=rank)
    data: Any = batches if sized else Unsized(batches)
    for i, batch in enumerate(steppers[outer].over(steppers[1 - outer].over(data))):
        way = ways.get((rank, i))
        if way == "leaves":
            continue
        loss = mse(models[0], batch)
        if way == "fails":
            loss.register_hook(_boom)  # type: ignore[no-untyped-call]
            with raises(Boom):
                first.backward(loss, items=len(batch[1]))
        elif way is None:
            first.backward(loss, items=len(batch[1]))
        second.backward(mse(models[1], batch), items=len(batch[1]))
    for which in range(2):
        theirs = net(which)
        updates = _windows(lengths, ways, accumulate[which], which)
        big_batches(theirs, SGD(theirs.parameters(), 0.1), updates)
        close(models[which], theirs)
        assert steppers[which].updates == sum(map(bool, updates))


def _windows(lengths: list[int], ways: Ways, accumulate: int, which: int) -> list[list[Batch]]:
    """What each update is made of, by the place of each micro-batch in its rank's data."""
    found: list[list[Batch]] = []
    for rank, length in enumerate(lengths):
        batches = micro_batches(*[2 + rank] * length, seed=rank)
        for i, batch in enumerate(batches):
            number = i // accumulate
            found += [[] for _ in range(number + 1 - len(found))]
            way = ways.get((rank, i))
            if way is None or (which == 1 and way != "leaves"):
                found[number].append(batch)
    return found


def _boom(gradient: Any) -> None:
    raise Boom("in the backward")


# Stories --------------------------------------------------------------------------------------


def data_that_ends_first_on_one_rank() -> None:
    lengths = [5, 2, 4][: dist.get_world_size()]
    for outer in range(2):
        for sized in (True, False):
            train(lengths, {}, outer=outer, sized=sized)


def a_rank_that_leaves_the_turn() -> None:
    lengths = [5] * dist.get_world_size()
    for outer in range(2):
        train(lengths, {(1, 0): "leaves", (1, 3): "leaves"}, outer=outer)


def a_rank_that_goes_on_with_the_second_net() -> None:
    lengths = [6] * dist.get_world_size()
    train(lengths, {(1, 2): "goes on", (0, 4): "goes on"})


def a_backward_that_fails_and_the_rank_goes_on() -> None:
    lengths = [4] * dist.get_world_size()
    for outer in range(2):
        train(lengths, {(1, 0): "fails", (0, 2): "fails"}, outer=outer)


def before_an_order_is_known_all_are_told() -> None:
    lengths = [3] * dist.get_world_size()
    others = ", ".join(str(rank) for rank in range(dist.get_world_size()) if rank != 1)
    with raises(RankFailure, f"rank {others} is at Stepper ", "; rank 1 is at Stepper "):
        train(lengths, {(1, 0): "goes on"})


def random_turns() -> None:
    dice = random.Random(0)
    world = dist.get_world_size()
    for _ in range(30):
        lengths = [dice.randint(0, 6) for _ in range(world)]
        ways: dict[tuple[int, int], Way] = {
            (rank, i): dice.choice(["leaves", "fails"])
            for rank, length in enumerate(lengths)
            for i in range(length)
            if dice.random() < 0.2
        }
        accumulate = dice.randint(1, 3), dice.randint(1, 3)
        train(
            lengths,
            ways,
            accumulate=accumulate,
            outer=dice.randint(0, 1),
            sized=dice.random() < 0.5,
        )


STORIES = [
    data_that_ends_first_on_one_rank,
    a_rank_that_leaves_the_turn,
    a_rank_that_goes_on_with_the_second_net,
    a_backward_that_fails_and_the_rank_goes_on,
    before_an_order_is_known_all_are_told,
    random_turns,
]

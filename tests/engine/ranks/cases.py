"""The cases that are run on two and on three ranks."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.engine.ranks.schedules import Fault, Schedule, Spot

FAULTS: tuple[Fault, ...] = ("data", "forward", "loss", "backward")


def schedules(ranks: int) -> dict[str, Schedule]:
    """Schedules that one big batch per window can be held against."""
    unequal = ((4, 1, 3, 2), (2, 2, 5, 7), (1, 6, 1, 2))[:ranks]
    uneven = ((4, 1, 3, 2, 1, 3), (2, 2, 5), (1, 6, 1, 2, 5))[:ranks]
    found = {
        "equal": Schedule(((4, 4, 4, 4),) * ranks),
        "equal without items": Schedule(((4, 4, 4, 4),) * ranks, rows=False),
        "windows of one": Schedule(unequal, accumulate=1),
        "unequal": Schedule(unequal),
        "clipped": Schedule(unequal, options={"clip_norm": 0.05}, adam=False),
        "a short last window": Schedule(tuple((*s, 3) for s in unequal)),
        "one window, never full": Schedule(unequal, accumulate=9),
        "uneven": Schedule(uneven),
        "uneven windows of one": Schedule(uneven, accumulate=1),
        "uneven windows of four": Schedule(uneven, accumulate=4, adam=False),
        "a rank without data": Schedule((unequal[0], (), *unequal[2:])),
        "no data at all": Schedule(((),) * ranks),
        "nan": Schedule(unequal, faults={(1, 1, 0): "nan"}),
    }
    for fault in FAULTS:
        for on_fault in ("continue", "drop"):
            for which in range(3):
                spots: dict[Spot, Fault] = {(1, 0, which): fault}
                found[f"{fault} fails at {which}, {on_fault}"] = Schedule(
                    uneven, faults=spots, options={"on_fault": on_fault}, epochs=1
                )
        everywhere: dict[Spot, Fault] = {(r, 0, 1): fault for r in range(ranks)}
        found[f"{fault} fails everywhere"] = Schedule(unequal, faults=everywhere)
        nothing: dict[Spot, Fault] = {(1, 0, i): fault for i in range(4)}
        found[f"{fault} fails always on one rank"] = Schedule(unequal, faults=nothing)
    return found


def replicas(ranks: int) -> dict[str, Callable[[], Any]]:
    """All of them under DDP, with its options."""
    from tests.engine.ranks.program import train

    return {name: partial(train, schedule) for name, schedule in replicated(ranks).items()}


def replicated(ranks: int) -> dict[str, Schedule]:
    """The schedules, and some of them with options of DDP."""
    found = schedules(ranks)
    options: list[dict[str, Any]] = [
        {"gradient_as_bucket_view": True},
        {"bucket_cap_mb": 0.0001},
        {"find_unused_parameters": True},
    ]
    for option in options:
        for name in ("uneven", "backward fails at 1, continue", "data fails at 1, drop"):
            schedule = found[name]
            (said,) = option
            found[f"{name}, {said}"] = Schedule(
                schedule.sizes, faults=schedule.faults, options=schedule.options, spread=option
            )
    return found


def sharded(ranks: int) -> dict[str, Schedule]:
    """Those in which no rank fails in the middle of a forward or a backward, nor has no data."""
    return {
        name: schedule
        for name, schedule in schedules(ranks).items()
        if not {"forward", "backward"} & set(schedule.faults.values())
        and schedule.faults.get((1, 0, 0)) != "data"
        and all(schedule.sizes)
    }


def shards(ranks: int) -> dict[str, Callable[[], Any]]:
    """All of them under FSDP2."""
    from tests.engine.ranks.program import shard, train

    return {name: partial(train, each, shard) for name, each in sharded(ranks).items()}


RANDOM = 100


def random_schedules(ranks: int, *, shards: bool) -> dict[str, Schedule]:
    """Uneven data with faults here and there, the same each time."""
    found = {}
    for seed in range(RANDOM):
        dice = random.Random(f"{seed} {shards}")
        accumulate = dice.choice([1, 2, 3, 5])
        lengths = [dice.randint(1 if shards else 0, 9) for _ in range(ranks)]
        sizes = tuple(tuple(dice.randint(1, 6) for _ in range(n)) for n in lengths)
        kinds: tuple[Fault, ...] = ("data", "loss", "nan") if shards else (*FAULTS, "nan")
        faults: dict[Spot, Fault] = {}
        for rank, length in enumerate(lengths):
            for epoch in range(2):
                # A sharded rank that has had no micro-batch yet can't repeat one.
                for i in range(int(shards and epoch == 0), length):
                    if dice.random() < 0.2:
                        faults[rank, epoch, i] = dice.choice(kinds)
        options = {
            "on_fault": dice.choice(["continue", "drop"]),
            "clip_norm": dice.choice([None, 0.1]),
        }
        adam = dice.random() < 0.5
        found[f"{seed}"] = Schedule(sizes, accumulate, 2, faults, options, adam)
    return found


def random_replicas(ranks: int) -> dict[str, Callable[[], Any]]:
    """All of them under DDP."""
    from tests.engine.ranks.program import train

    found = random_schedules(ranks, shards=False)
    return {name: partial(train, schedule) for name, schedule in found.items()}


def random_shards(ranks: int) -> dict[str, Callable[[], Any]]:
    """All of them under FSDP2."""
    from tests.engine.ranks.program import shard, train

    found = random_schedules(ranks, shards=True)
    return {name: partial(train, schedule, shard) for name, schedule in found.items()}


def stories(ranks: int) -> dict[str, Callable[[], Any]]:
    """Everything else."""
    from tests.engine.ranks import stories as told
    from tests.engine.ranks.damage import a_damaged_shared_state_changes_nothing
    from tests.engine.ranks.meshes import EACH, tensor_parallel
    from tests.engine.ranks.scripts import stopped_and_resumed

    found: dict[str, Callable[[], Any]] = {}
    for story in told.BOTH:
        found[f"{story.__name__} (ddp)"] = partial(story, told.replicate)
        found[f"{story.__name__} (fsdp)"] = partial(story, told.shard)
    for alone in (*told.REPLICAS, *told.SHARDS, a_damaged_shared_state_changes_nothing):
        found[alone.__name__] = alone
    for cut in EACH[:2]:
        found[f"{cut.__name__} (tensor parallel)"] = partial(cut, tensor_parallel)
    for kind, spread in (("ddp", told.replicate), ("fsdp", told.shard)):
        found[f"calls in any order, resumed ({kind})"] = partial(stopped_and_resumed, 1, spread)
    return found


def two_nets(ranks: int) -> dict[str, Callable[[], Any]]:
    """Programs with two Steppers."""
    from tests.engine.ranks.two_nets import STORIES

    return {story.__name__: story for story in STORIES}


WALKS = 30


def walks(ranks: int) -> dict[str, Callable[[], Any]]:
    """Calls in any order, resumed from any save."""
    from tests.engine.ranks.scripts import stopped_and_resumed
    from tests.engine.ranks.stories import replicate, shard

    return {
        f"{seed} {kind}": partial(stopped_and_resumed, seed, spread)
        for kind, spread in (("ddp", replicate), ("fsdp", shard))
        for seed in range(WALKS)
    }


def elsewhere(ranks: int) -> dict[str, Callable[[], Any]]:
    """Saved on some ranks, and resumed on others."""
    from tests.engine.ranks.elsewhere import goes_on_elsewhere

    return {
        f"{seed} {kind}": partial(goes_on_elsewhere, seed, sharded=kind == "fsdp")
        for kind in ("ddp", "fsdp")
        for seed in range(WALKS)
    }


def meshes(ranks: int) -> dict[str, Callable[[], Any]]:
    """Tensor parallelism, and meshes of two dimensions."""
    from tests.engine.ranks.meshes import stories

    return stories()


SETS: dict[str, Callable[[int], dict[str, Callable[[], Any]]]] = {
    "replicas": replicas,
    "shards": shards,
    "stories": stories,
    "two nets": two_nets,
    "random replicas": random_replicas,
    "random shards": random_shards,
    "walks": walks,
    "elsewhere": elsewhere,
    "meshes": meshes,
}

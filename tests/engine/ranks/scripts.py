"""Calls in any order on several ranks, saved and resumed in between, as one process does it.

Where the ranks do different things in a turn, the turn is left at once: a save or a flush is for
all ranks, at the same place.
"""

from __future__ import annotations

import copy
import random
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import torch.distributed as dist

from gradledger import StepperWarning
from tests.engine.loops import assert_equal
from tests.engine.ranks.stories import Spread, replicate, weights
from tests.engine.scripts import Loop, make_options

DONE = (["backward"], ["run"], ["more", "backward"])
LEFT: tuple[list[str], ...] = (["fail"], ["more", "fail"], ["fail", "backward"], ["forward"], [])
SHARDED = (["backward"], ["backward"], ["more", "backward"], ["forward"])
"""What a sharded model allows: no rank fails in the middle of its layers."""
IN_STEP = (["backward"], ["forward"])
"""Where ranks differ, all of them still go through its layers as often."""


def script(chance: random.Random, ranks: int, *, sharded: bool) -> list[list[str]]:
    """What the loop of each rank does, turn by turn."""
    calls: list[list[str]] = [[] for _ in range(ranks)]

    def all_do(*what: str) -> None:
        for each in calls:
            each.extend(what)

    for _ in range(chance.randrange(4, 12)):
        all_do("draw")
        if chance.random() < 0.25:
            for each in calls:
                each += chance.choice(IN_STEP if sharded else (*DONE, *LEFT, ["drop"]))
            continue
        losses = chance.choice(SHARDED if sharded else (*DONE, *DONE, *LEFT))
        for what in losses:
            while not sharded and chance.random() < 0.15:
                all_do(chance.choice(["flush", "drop", "save"]))
            all_do(what)
        if losses in DONE:
            kinds = ["flush", "drop", "share"] + ["save"] * (not sharded)
            while chance.random() < 0.35:
                all_do(chance.choice(kinds))
    return calls


class RankLoop(Loop):
    """One rank's."""

    def __init__(self, options: dict[str, Any], seed: int, spread: Spread) -> None:
        super().__init__(options, seed, spread)
        torch.manual_seed(seed + dist.get_rank())

    def call(self, what: str) -> None:
        if what == "share" and self.shares():
            self.stepper.shared_state_dict()
        elif what != "share":
            super().call(what)
        if what == "flush":  # which ends the turn, as on all ranks
            self.batch = None

    def shares(self) -> bool:
        """It is known on all ranks: what was drawn there has its loss."""
        return self.batch is None

    def shared(self) -> dict[str, Any]:
        """What all ranks have together, as torch.distributed.checkpoint would keep it."""
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "stepper": self.stepper.shared_state_dict(),
        }
        return copy.deepcopy(state)

    def resume_shared(self, state: dict[str, Any], *, inside: bool) -> None:
        """Takes it up. `inside`: in the middle of a pass."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.stepper.load_shared_state_dict(state["stepper"])
        self.batches = self.stepper.over(self.data) if inside else None

    def outcome(self) -> dict[str, Any]:
        found = super().outcome()
        moments = [copy.deepcopy(each) for each in found["optimizer"]["state"].values()]
        local = [
            {k: v.to_local() if hasattr(v, "to_local") else v for k, v in each.items()}
            for each in moments
        ]
        return found | {"model": weights(self.model), "optimizer": local}


def stopped_and_resumed(seed: int, spread: Spread) -> None:
    """The same calls, once in one go, and once in new objects after each save."""
    sharded = spread is not replicate
    chance = random.Random(f"{seed} {sharded}")
    options = make_options(chance)
    if sharded:
        options["bad"] = set()  # of the first, there is no earlier one to repeat
    calls = script(chance, dist.get_world_size(), sharded=sharded)[dist.get_rank()]
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", StepperWarning)
        plain = RankLoop(options, 0, spread)
        for what in calls:
            plain.call(what)
        expected = plain.outcome()
        del plain
        found = _run_saved(options, calls, Path(folder, "saved"), chance, spread).outcome()
    assert_equal(found, expected, f"{calls} {options}: ")


def _run_saved(
    options: dict[str, Any], calls: list[str], path: Path, chance: random.Random, spread: Spread
) -> RankLoop:
    loop = RankLoop(options, 0, spread)
    for at, what in enumerate(calls):
        if what == "save":
            stood = RankLoop.__new__(RankLoop)
            stood.batches, stood.batch, stood.turn = loop.batches, loop.batch, list(loop.turn)
            following = next((call for call in calls[at + 1 :] if call != "save"), "")
            if chance.random() < 0.5 and following == "draw":
                loop.interrupted(following, path)
                stood.batch = None
            else:
                loop.stepper.save(path)
            loop = RankLoop(options, 100 + at, spread)
            loop.go_on(path, stood)
        elif what == "share" and loop.shares():
            state, inside = loop.shared(), loop.batches is not None
            loop = RankLoop(options, 100 + at, spread)
            loop.resume_shared(state, inside=inside)
        else:
            loop.call(what)
    return loop

"""Any order of draws, losses, flushes, drops, faults, interrupts, saved anywhere: resumed bit for
bit as the run that was never saved.

A script is a list of calls that a loop makes. One run makes all of them. The other is saved at
random places, sometimes from the handler of a Ctrl-C, and goes on in new objects.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from .loops import assert_equal
from .scripts import Loop, make_options, script

SEEDS = range(int(os.environ.get("GRADLEDGER_SCRIPTS", "100")))
QUICK = 20


def run_saved(options: dict[str, Any], calls: list[str], path: Path, chance: random.Random) -> Loop:
    """Stopped at each save."""
    loop = Loop(options, 0)
    for at, what in enumerate(calls):
        drawing = [call for call in calls[at + 1 :] if call in ("draw", "over")]
        if what != "save" or drawing[:1] == ["over"]:  # which would leave the pass that is resumed
            loop.call(what)
            continue
        following = next((call for call in calls[at + 1 :] if call != "save"), "")
        stood = Loop.__new__(Loop)
        stood.batches, stood.batch, stood.turn = loop.batches, loop.batch, list(loop.turn)
        if chance.random() < 0.5:
            loop.interrupted(following, path)
            stood.batch = None if following == "draw" else stood.batch  # it has ended before that
        else:
            loop.stepper.save(path)
        if chance.random() < 0.7:
            loop = Loop(options, 100 + at)
        else:  # into the same objects, which have trained on meanwhile
            for garbage in ("draw", "backward", "draw", "flush", "draw"):
                loop.call(garbage)
        loop.go_on(path, stood)
    return loop


@pytest.mark.filterwarnings("ignore:the data has ended after")
@pytest.mark.parametrize(
    "seed", [pytest.param(s, marks=[] if s < QUICK else [pytest.mark.slow]) for s in SEEDS]
)
def test_calls_in_any_order_resumed_from_any_save_are_the_run_that_was_never_saved(
    seed: int, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    options, calls = make_options(chance), script(chance)
    plain = Loop(options, 0)
    for what in calls:
        plain.call(what)
    saved = run_saved(options, calls, tmp_path / "saved", chance)
    assert_equal(saved.outcome(), plain.outcome(), f"{calls} {options}: ")

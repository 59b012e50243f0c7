"""A play shows the cycle, what cells hold on it, and the faults that the checker finds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gradledger.ledger.events import Backward, Clear, Clip, Step
from gradledger.plays.steps import _SAYS, SHOWN
from gradledger.rules import CATALOGUE, find, programs
from gradledger.static.budget import MOST_EVENTS_PLAYED
from gradledger.static.playing.play import plays

LOOP = """\
import torch
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(100):
    loss = model(torch.randn(4, 2)).square().mean() / 4
    loss.backward()
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


def the_play(text: str) -> dict[str, Any]:
    (play,) = plays("train.py", text)
    played: dict[str, Any] = json.loads(json.dumps(play))
    return played


def test_a_window_fills_up_is_spent_and_cleared_twice() -> None:
    steps = the_play(LOOP)["steps"]
    assert [step["kind"] for step in steps] == 2 * (["backward"] * 4 + ["step", "clear"])
    held = [sum(h["count"] for c in step["cells"] for h in c["holds"]) for step in steps]
    assert held == 2 * [1, 2, 3, 4, 4, 0]
    assert steps[4]["says"] == "spends 4 deposits"
    assert steps[0]["cells"][0]["holds"][0]["weight"] == "mean, divided by 4"
    assert not any(step["faults"] for step in steps)


def test_a_loop_without_windows_goes_round_often_enough_to_be_understood() -> None:
    text = LOOP.replace("    if (i + 1) % 4 == 0:\n", "").replace("        opt", "    opt")
    steps = the_play(text.replace(" / 4", ""))["steps"]
    assert [step["kind"] for step in steps] == 3 * ["backward", "step", "clear"]


def test_a_missing_clear_is_marked_where_a_step_spends_again_and_not_before() -> None:
    text = LOOP.replace("        optimizer.zero_grad()\n", "")
    faults = [bool(step["faults"]) for step in the_play(text)["steps"]]
    assert faults == [False] * 5 + [False] * 4 + [True]


def test_every_event_that_is_shown_says_what_its_line_does() -> None:
    said_with_numbers = {Backward, Step, Clear, Clip}
    assert set(_SAYS) | said_with_numbers == SHOWN


def test_a_fault_that_a_comment_ignores_is_not_marked() -> None:
    text = LOOP.replace("        optimizer.zero_grad()\n", "")
    ignored = text.replace(
        "optimizer.step()", "optimizer.step()  # gradledger: ignore[GL101] meant"
    )
    assert ignored != text
    play = the_play(ignored)
    assert play["findings"] == []
    assert not any(step["faults"] for step in play["steps"])


def test_a_short_last_window_is_played_where_it_is_the_fault() -> None:
    text = LOOP.replace(
        "for i in range(100):", "for x in range(3):\n  for i, _ in enumerate(data):"
    )
    text = text.replace("import torch\n", "import torch\nfrom data import data\n")
    play = the_play(text)
    assert [f["rule"] for f in play["findings"]] == ["GL203"]
    assert any(step["faults"] for step in play["steps"])
    rounds = [[r["unit"] for r in step["rounds"]] for step in play["steps"]]
    assert rounds[0] == ["epoch", "iteration"]


def test_each_of_three_loops_has_a_name_of_its_own() -> None:
    play = the_play(programs.bad(find("GL302")).source)
    rounds = [[r["unit"] for r in step["rounds"]] for step in play["steps"]]
    assert rounds[0] == ["epoch", "batch", "iteration"]


@pytest.mark.parametrize("code", [rule.code for rule in CATALOGUE])
def test_every_example_of_a_rule_can_be_played(code: str) -> None:
    rule = next(rule for rule in CATALOGUE if rule.code == code)
    for program in (programs.bad(rule), programs.good(rule)):
        for play in plays(program.name, program.source):
            steps = play["steps"]
            assert isinstance(steps, list)
            assert 0 < len(steps) <= MOST_EVENTS_PLAYED
            json.dumps(play)


@pytest.mark.parametrize("text", ["", "x = 1\n", "def broken(:\n", "\0"])
def test_what_trains_nothing_has_no_play(text: str) -> None:
    assert plays("train.py", text) == []

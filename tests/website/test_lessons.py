"""Each lesson has a program that is right, and an exercise in which gradledger finds the fault."""

from __future__ import annotations

import re

import pytest

from gradledger.cli import main
from website.directives import directives, output
from website.layout import PAGES, PROGRAMS
from website.navigation import LESSONS

FAULTS = {
    "leaves": "GL606",
    "backward": "GL701",
    "loop": "GL201",
    "forgotten": "GL101",
    "clearing": "GL604",
    "optimizers": "GL501",
    "accumulation": "GL502",
    "several": "GL102",
    "amp": "GL401",
    "recurrent": "GL702",
    "interrupted": "GL902",
    "ranks": "GL801",
}
BY_RUN = {"clearing"}
"""What only happens: the source alone does not tell."""


def test_each_lesson_has_its_fault() -> None:
    assert tuple(FAULTS) == LESSONS


@pytest.mark.parametrize("lesson", LESSONS)
def test_the_exercise_has_the_planted_fault_and_no_other(lesson: str) -> None:
    page = (PAGES / "learn" / f"{lesson}.md").read_text(encoding="utf-8")
    command = f"gradledger {'run' if lesson in BY_RUN else 'check'} {lesson}_exercise.py"
    assert ("run", command) in list(directives(page))
    found = re.findall(rf"^{lesson}_exercise\.py:\d+: (GL\d+)", output(command), re.MULTILINE)
    assert found == [FAULTS[lesson]]


@pytest.mark.parametrize("lesson", LESSONS)
def test_each_lesson_has_a_program_its_output_and_a_loop_to_step_through(lesson: str) -> None:
    page = (PAGES / "learn" / f"{lesson}.md").read_text(encoding="utf-8")
    in_view = page.partition("\n??? ")[0]  # what stands before the answer to the exercise
    kinds = [directive.kind for directive in directives(in_view)]
    assert {"program", "run", "play"} <= set(kinds)


RIGHT = (
    *("leaves_loop", "backward_loop", "loop_plain", "clearing_loop", "optimizers_loop"),
    *("accumulation_loop", "several_loop", "amp", "amp_loop", "recurrent", "recurrent_loop"),
    "ranks_loop",
)


@pytest.mark.parametrize("name", RIGHT)
def test_what_lessons_show_as_right_is_right(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(PROGRAMS / f"{name}.py")]) == 0
    assert "do not balance" not in capsys.readouterr().out

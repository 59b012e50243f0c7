from __future__ import annotations

import re

import pytest

from gradledger.rules import CATALOGUE, Rule, find, programs
from gradledger.rules.programs import FOLDER, Program

every_rule = pytest.mark.parametrize("rule", CATALOGUE, ids=lambda rule: rule.code)


def labels(program: Program) -> set[str]:
    """Everything that is written like a mark, whoever it is for."""
    return set(re.findall(r"# (GL\d{3}|fix):", program.source))


@every_rule
def test_the_bad_program_marks_its_own_rule_and_no_other(rule: Rule) -> None:
    program = programs.bad(rule)
    assert program.marks
    assert labels(program) == {rule.code}


@every_rule
def test_the_good_program_marks_what_is_cured(rule: Rule) -> None:
    program = programs.good(rule)
    assert program.marks
    assert labels(program) == {"fix"}


@every_rule
def test_every_mark_is_read_and_stands_behind_code(rule: Rule) -> None:
    for program in (programs.bad(rule), programs.good(rule)):
        written = len(re.findall(r"# (?:GL\d{3}|fix):", program.source))
        assert len(program.marks) == written
        for number, text in program.marks.items():
            code = program.lines[number - 1]
            assert code.strip()
            assert text not in code
            assert not code.lstrip().startswith("#")


@every_rule
def test_the_pair_trains_the_same_thing_differently(rule: Rule) -> None:
    wrong, right = programs.bad(rule), programs.good(rule)
    assert wrong.purpose
    assert wrong.purpose == right.purpose
    assert wrong.lines != right.lines


@every_rule
def test_a_frame_holds_every_mark_and_fits_on_a_screen(rule: Rule) -> None:
    for program in (programs.bad(rule), programs.good(rule)):
        frame = program.frame()
        assert set(program.marks) <= set(frame)
        assert frame == sorted(set(frame))
        assert len(frame) <= 40
        assert frame[0] >= 1
        assert frame[-1] <= len(program.lines)


def test_every_file_in_the_folder_belongs_to_a_rule() -> None:
    expected = {f"{rule.code.lower()}_{kind}.py" for rule in CATALOGUE for kind in ("bad", "good")}
    assert {path.name for path in FOLDER.glob("*.py")} == expected


def test_of_a_block_that_is_too_long_only_the_first_line_and_the_part_with_the_mark_is_shown() -> (
    None
):
    source = "\n".join(
        [
            "for epoch in epochs:",
            *["    before()"] * 30,
            "    for batch in batches:",
            "        step()  # GL101: here",
            *["    after()"] * 30,
        ]
    )
    assert Program("long.py", source, {33: "here"}).frame() == [1, 32, 33]


def test_a_cause_far_from_the_mark_is_shown_with_its_paragraph() -> None:
    source = "a = 1\nb = 2\n\nc = 3\n\nfor d in e:\n    step()  # GL803: here\n"
    assert Program("far.py", source, {7: "here"}, causes=(2,)).frame() == [1, 2, 6, 7]


def test_the_example_of_a_far_cause_shows_what_the_cure_changes() -> None:
    program = programs.bad(find("GL803"))
    shown = [program.lines[number - 1] for number in program.frame()]
    assert any("model.apply(" in line for line in shown)


def test_where_no_block_is_round_the_mark_its_paragraph_is_shown() -> None:
    source = "a = 1\n\nb = 2\nc = 3  # GL601: here\n\nd = 4\n"
    assert Program("flat.py", source, {4: "here"}).frame() == [3, 4]


def test_a_hash_in_the_middle_of_a_comment_is_no_mark() -> None:
    program = Program("plain.py", "x = 1  # not a mark\n", {})
    assert program.lines == ["x = 1  # not a mark"]

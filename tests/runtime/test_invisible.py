"""What a program computes, draws and prints is bit for bit what it is without the auditor.

The rules' own examples are compared in test_examples.py, where they are run anyway.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.command_line import CommandLine
from tests.tiers import slow_but

HERE = Path(__file__).parent
NUMERICS = [
    *sorted(HERE.joinpath("programs", "numerics").glob("*.py")),
    HERE / "traps" / "conversion_that_swaps_tensors.py",
    HERE / "traps" / "parameters_of_a_tensor_subclass.py",
]
EXAMPLES = sorted(HERE.parents[1].joinpath("examples").glob("*.py"))


@pytest.mark.parametrize(
    "program",
    slow_but(NUMERICS.__contains__, [*NUMERICS, *EXAMPLES]),
    ids=lambda program: program.stem,
)
def test_it_computes_and_says_the_same_as_without_an_auditor(
    program: Path, command_line: CommandLine
) -> None:
    audited, plain = command_line.both(program)
    assert plain.status == 0, plain.errors
    assert audited.seen_by_the_program == plain.seen_by_the_program
    assert audited.verdict["stats"]["trouble"] == ""
    assert audited.verdict["stats"]["backwards"] > 0


@pytest.mark.parametrize("program", NUMERICS, ids=lambda program: program.stem)
def test_to_record_and_measure_it_changes_nothing(program: Path, command_line: CommandLine) -> None:
    audited, plain = command_line.both(program, "--record", "run")
    assert audited.seen_by_the_program == plain.seen_by_the_program
    assert audited.verdict["stats"]["trouble"] == ""


@pytest.mark.parametrize("words", ["--record run", "--sample 3", "--select GL101"])
def test_no_option_is_seen_by_the_program(words: str, command_line: CommandLine) -> None:
    program = HERE / "programs" / "numerics" / "two_nets.py"
    audited, plain = command_line.both(program, *words.split())
    assert audited.seen_by_the_program == plain.seen_by_the_program


def test_a_difference_would_be_seen(command_line: CommandLine, tmp_path: Path) -> None:
    program = HERE / "programs" / "numerics" / "two_nets.py"
    other = tmp_path / "other.py"
    source = program.read_text(encoding="utf-8")
    for old, new in (("lr=0.01, betas", "lr=0.0100001, betas"), ("(4)", "(5)")):
        assert source.count(old) == 1
        other.write_text(source.replace(old, new), encoding="utf-8")
        assert command_line.plain(other).digest != command_line.plain(program).digest

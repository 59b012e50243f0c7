"""Who averages what, and when: seen under torchrun, and in the source where it can be.

FSDP2 reduces where it is told to, and keeps what it has not reduced out of `.grad`: a step that
comes too early finds nothing, which is GL801 there, too. The checker does not follow that.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.runtime.command_line import fresh
from tests.tiers import slow_but
from tests.torchrun import torchrun

PROGRAMS = Path(__file__).parent / "programs" / "ranks"
APART = Path(__file__).parent / "programs" / "apart"
TORCHRUN = ("-m", "torch.distributed.run", "--standalone")
AUDITED = sorted(path for path in PROGRAMS.glob("*.py") if path.name != "dies.py")

QUICK = {"averaged_by_hand", "shards_never_synced", "synced_one_micro_batch_too_early"}
EACH = slow_but(lambda program: program.stem in QUICK, AUDITED)

every = pytest.mark.parametrize("program", AUDITED, ids=lambda path: path.stem)


def marked(program: Path, rules: str, by: str = "") -> set[str]:
    """`GL801:18`, as the comments say; one that begins with `run:` says it of the auditor alone."""
    lines = enumerate(program.read_text().splitlines(), start=1)
    return {f"{m[1]}:{n}" for n, line in lines if (m := re.search(f"# {by}({rules})$", line))}


def found(text: str) -> set[str]:
    return {f"{one['rule']}:{one['line']}" for one in json.loads(text)["findings"]}


@pytest.mark.parametrize("program", EACH, ids=lambda path: path.stem)
def test_torchrun_sees_the_marked_lines_and_nothing_else(program: Path, tmp_path: Path) -> None:
    ranks = 3 if program.stem == "replicas_that_drift" else 2
    run = ("gradledger", "run", "--format", "json", "--output", "verdict", str(program))
    done = torchrun(ranks, *run, at=tmp_path)
    assert done.returncode == 0, done.stderr
    assert found((tmp_path / "verdict").read_text()) == marked(program, r"GL\d+", "(?:run: )?")


@every
def test_the_checker_sees_those_of_no_sync(program: Path, tmp_path: Path) -> None:
    ended = fresh("-m", "gradledger", "check", "--format", "json", str(program), at=tmp_path)
    assert found(ended.output) == marked(program, "GL80[12]")


def line_of(text: str, program: Path) -> int:
    return 1 + [line.strip() for line in program.read_text().splitlines()].index(text)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "step"), [("told_at_once", 1), ("told_at_the_end", 5)])
def test_ranks_that_stay_apart_raise_as_soon_as_it_is_known(name: str, step: int) -> None:
    ended = torchrun(2, name, at=APART, PYTHONDONTWRITEBYTECODE="1")
    raised = f"GL801:{line_of('optimizer.step()', APART / f'{name}.py')} in step {step}"
    assert ended.stdout.count(raised) == 2, ended  # on one line, perhaps


# Takes long: torchrun and each rank are real processes, and load torch.
@pytest.mark.slow
def test_a_rank_that_was_killed_has_told_that_it_was_apart(tmp_path: Path) -> None:
    program = APART / "told_at_once.py"
    run = ("-m", "gradledger", "run", "--record", "run.gradledger", str(program), "killed")
    fresh(*TORCHRUN, "--nproc_per_node", "2", *run, at=tmp_path)
    recordings = sorted(tmp_path.glob("*.gradledger"))
    assert len(recordings) == 2
    for recording in recordings:
        report = ("-m", "gradledger", "report", "--format", "json", str(recording))
        told = found(fresh(*report, at=tmp_path).output)
        assert told == {f"GL801:{line_of('optimizer.step()', program)}"}

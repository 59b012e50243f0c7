"""Every rule's examples through the command line: the bad one's marked lines, and nothing else.

The same runs show that the programs notice nothing: what they print, compute, draw and leave with
is what they do without an auditor.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from gradledger.rules import CATALOGUE, Rule, find
from gradledger.rules.programs import Program, bad, good
from tests.runtime.command_line import CommandLine, fresh
from tests.tiers import slow_but_one_per_law

SEEN = [rule for rule in CATALOGUE if rule.seen_by.by_run]
ALONE = [rule for rule in SEEN if "init_process_group" not in bad(rule).source]
IN_RANKS = [rule for rule in SEEN if rule not in ALONE]

RANKS = 2


def every(rules: Sequence[Rule | ParameterSet]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("rule", rules, ids=lambda rule: rule.code)


def marked(rule: Rule) -> set[str]:
    return {f"{rule.code}:{line}" for line in bad(rule).marks}


def in_ranks() -> list[dict[str, str]]:
    """What torchrun would tell each rank."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(RANKS)}
    return [shared | {"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(RANKS)]


# In forks of one process ---------------------------------------------------------------------


@every(ALONE)
def test_the_bad_program_is_found_out_at_the_marked_lines_and_notices_nothing(
    rule: Rule, command_line: CommandLine
) -> None:
    audited, plain = command_line.both(bad(rule).path)
    assert audited.findings == marked(rule), audited.words
    assert audited.seen_by_the_program == plain.seen_by_the_program
    assert audited.status or not rule.stops


@every(slow_but_one_per_law(ALONE))
def test_nothing_is_found_in_the_good_program_which_notices_nothing(
    rule: Rule, command_line: CommandLine
) -> None:
    audited, plain = command_line.both(good(rule).path)
    assert audited.findings == set(), audited.words
    assert audited.verdict["stats"]["backwards"] > 0
    assert audited.seen_by_the_program == plain.seen_by_the_program


@every(IN_RANKS)
@pytest.mark.parametrize(
    "program", [bad, pytest.param(good, marks=pytest.mark.slow)], ids=["bad", "good"]
)
def test_ranks_give_one_verdict_and_notice_nothing(
    rule: Rule, program: Callable[[Rule], Program], command_line: CommandLine
) -> None:
    path = program(rule).path
    first, *others = audited = command_line.ranks(path, environments=in_ranks())
    plain = command_line.plain_ranks(path, environments=in_ranks())
    assert first.findings == (marked(rule) if program is bad else set()), first.words
    assert first.verdict["stats"]["ranks"] == RANKS
    assert [other.verdict for other in others] == [{}]
    assert [rank.seen_by_the_program for rank in audited] == [
        rank.seen_by_the_program for rank in plain
    ]


# In real processes ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "findings", "status"),
    [
        (bad(find("GL101")), marked(find("GL101")), 1),
        pytest.param(good(find("GL101")), set(), 0, marks=pytest.mark.slow),
        pytest.param(bad(find("GL405")), marked(find("GL405")), 1, marks=pytest.mark.slow),
    ],
    ids=["bad", "good", "torch stops it"],
)
def test_a_real_process_says_the_same(
    program: Program, findings: set[str], status: int, tmp_path: Path
) -> None:
    words = ("-m", "gradledger", "run", "--fail-on", "error", "--format", "json")
    ended = fresh(*words, str(program.path), at=tmp_path)
    verdict = json.loads(ended.output[ended.output.index("{") :])
    assert {f"{f['rule']}:{f['line']}" for f in verdict["findings"]} == findings
    assert ended.status == status
    assert ("Traceback" in ended.errors) == (program.name == "gl405_bad.py")


# Takes long: torchrun and each rank are real processes, and load torch.
@pytest.mark.slow
def test_torchrun_gives_one_verdict_printed_once(tmp_path: Path) -> None:
    rule = find("GL803")
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(RANKS))
    run = ("-m", "gradledger", "run", "--record", "run.gradledger", str(bad(rule).path))
    ended = fresh(*torchrun, *run, at=tmp_path)
    assert ended.status == 0, ended.errors
    assert ended.errors.count("The books do not balance: 1 error.") == 1
    assert ended.errors.count("GL803 ranks-diverged") == 1
    assert f"{RANKS} ranks" in ended.errors
    assert f"gl803_bad.py:{next(iter(bad(rule).marks))}: " in ended.errors
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == ["run.rank0.gradledger", "run.rank1.gradledger"]

"""A recording tells, without torch, just what the run itself said."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradledger.cli.recordings import chronicles
from gradledger.report.as_json import document
from gradledger.report.chronicle import together
from gradledger.rules import Rule
from gradledger.rules.programs import bad, good
from tests.runtime.command_line import CommandLine
from tests.runtime.test_examples import ALONE, IN_RANKS, in_ranks
from tests.tiers import slow_but_one_per_law


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths are shown as they look from where one is; the runs have folders of their own."""
    monkeypatch.chdir(tmp_path)


def verdict_of(recording: Path) -> dict[str, object]:
    told = document(together(chronicles([str(recording)])))
    del told["stats"]["seconds"]
    return told


@pytest.mark.parametrize("rule", slow_but_one_per_law(ALONE), ids=lambda rule: rule.code)
@pytest.mark.parametrize(
    "program", [bad, pytest.param(good, marks=pytest.mark.slow)], ids=["bad", "good"]
)
def test_the_report_says_what_the_run_said(
    rule: Rule, program: object, command_line: CommandLine, tmp_path: Path
) -> None:
    recording = tmp_path / "run.gradledger"
    ended = command_line.audited(program(rule).path, "--record", str(recording))  # type: ignore[operator]
    del ended.verdict["stats"]["seconds"]
    assert verdict_of(recording) == ended.verdict


@pytest.mark.parametrize("rule", slow_but_one_per_law(IN_RANKS), ids=lambda rule: rule.code)
def test_the_report_on_several_ranks_says_what_rank_0_said(
    rule: Rule, command_line: CommandLine, tmp_path: Path
) -> None:
    recording = tmp_path / "run.gradledger"
    first, _ = command_line.ranks(
        bad(rule).path, "--record", str(recording), environments=in_ranks()
    )
    del first.verdict["stats"]["seconds"]
    assert verdict_of(recording) == first.verdict
    assert verdict_of(tmp_path / "run.rank1.gradledger") == first.verdict

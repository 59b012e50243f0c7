from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gradledger.errors import GradledgerError
from gradledger.ledger import Finding, Place
from gradledger.ledger.verdict import Verdict
from gradledger.report import FORMATS, UnknownFormatError, counts, render
from gradledger.report.balance import fails, worst
from gradledger.rules import CATALOGUE, Severity
from tests.report.rendered import rendered
from tests.report.stories import accumulation_gone_wrong, all_is_well, nobody_clears, wasted_work


def test_an_unknown_format_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(UnknownFormatError, match=r"'yaml'\. There are text, concise, json, "):
        render(all_is_well(), "yaml")
    assert issubclass(UnknownFormatError, GradledgerError)


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_ends_with_a_whole_line(format: str) -> None:
    said = rendered(nobody_clears(), format)
    assert said.endswith("\n")
    assert not said.endswith("\n\n")


def test_standard_output_is_the_stream_unless_another_is_given(
    capsys: pytest.CaptureFixture[str],
) -> None:
    render(nobody_clears(), quiet=True)
    assert capsys.readouterr().out.startswith("train.py:11: GL101")


def test_a_file_gets_no_colour_even_where_it_is_forced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with (tmp_path / "report.txt").open("w+", encoding="utf-8") as file:
        render(nobody_clears(), stream=file)
        file.seek(0)
        assert "\x1b" not in file.read()


def test_who_wants_no_colour_gets_none_on_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    render(nobody_clears(), stream=sys.stderr)
    assert "\x1b[" in capsys.readouterr().err
    monkeypatch.setenv("NO_COLOR", "1")
    render(nobody_clears(), stream=sys.stderr)
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("verdict", "level", "on_error", "on_warning"),
    [
        (all_is_well(), None, False, False),
        (wasted_work(), Severity.INFO, False, False),
        (
            Verdict("t", (Finding("GL203", Place("t.py", 1), "leaves", "observed"),)),
            Severity.WARNING,
            False,
            True,
        ),
        (accumulation_gone_wrong(), Severity.ERROR, True, True),
    ],
    ids=["clean", "info", "warning", "error"],
)
def test_a_verdict_fails_on_what_is_at_least_so_bad(
    verdict: Verdict, level: Severity | None, on_error: bool, on_warning: bool
) -> None:
    assert worst(verdict) is level
    assert (fails(verdict, "error"), fails(verdict, "warning")) == (on_error, on_warning)


def test_importing_the_package_loads_no_renderer() -> None:
    program = "import sys, gradledger.report.terminal; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ
    )
    loaded = set(done.stdout.split())
    assert "gradledger.report.terminal" in loaded
    assert loaded.isdisjoint({"rich", "json", "torch", "gradledger.ledger", "gradledger.rules"})


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use can't be deleted there")
@pytest.mark.parametrize("format", FORMATS)
def test_a_working_directory_that_is_gone_is_no_reason_to_fail(
    format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert "GL101" in rendered(nobody_clears(), format)


def test_only_rules_that_there_are_have_a_way_of_counting() -> None:
    assert {*counts.COUNTED, *counts.NOT_OWNED} <= {rule.code for rule in CATALOGUE}


def test_a_report_after_many_steps_is_as_long_as_after_few() -> None:
    few, many = (rendered(nobody_clears(steps=steps)) for steps in (10, 2_000))
    assert len(few.splitlines()) == len(many.splitlines())

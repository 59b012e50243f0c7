"""docs/reports.md says what is so, as far as it is about other tools and two runs."""

from __future__ import annotations

import re
from pathlib import Path

from gradledger.report.tables import TABLES
from tests.report import recorded_runs as runs
from tests.report.test_comparison import said, with_short_windows
from tests.report.test_tensorboard import read_run

PAGE = (Path(__file__).parents[2] / "docs" / "reports.md").read_text(encoding="utf-8")


def section(heading: str) -> str:
    return PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def rows(heading: str) -> list[list[str]]:
    """The cells of the table's rows, without the names of its columns."""
    table = [line for line in section(heading).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


def test_every_table_is_there_with_all_its_columns() -> None:
    told = {
        name.strip("`"): tuple(re.findall("`(.+?)`", columns)) for name, _, columns in rows("CSV")
    }
    assert told == {name: table.columns for name, table in TABLES.items()}


def test_every_table_is_described_as_in_the_code() -> None:
    told = {name.strip("`"): about.replace("`", "") for name, about, _ in rows("CSV")}
    assert told == {name: table.about for name, table in TABLES.items()}


def test_every_tag_is_there(tmp_path: Path) -> None:
    measures = runs.norms("optimizer-1", [1.0, 2.0], ["PARAMETER"])
    others = {(name, "optimizer-1", ""): [1.0, 2.0] for name in ("loss", "learning rate")}
    measures = {**measures, **others}
    named = {"called": {"optimizer-1": "OPTIMIZER"}, "measures": measures}
    written = {*read_run(tmp_path, runs.scaled(), **named)}
    (tmp_path / "known").mkdir()
    written |= {*read_run(tmp_path / "known", runs.accumulation(), **named)}
    assert {tag.strip("`") for tag, _ in rows("TensorBoard")} == written


def test_the_comparison_is_real(tmp_path: Path) -> None:
    shown = f"\n```\n{said(with_short_windows(tmp_path)).strip()}\n```\n"
    assert shown in section("What changed between two runs")

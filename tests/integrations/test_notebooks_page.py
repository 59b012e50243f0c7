"""docs/notebooks.md is enough: its cells run in a real kernel, and show what it says."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import pytest
from nbformat import NotebookNode

from tests.integrations.cells import run, shown

PAGE = (Path(__file__).parents[2] / "docs" / "notebooks.md").read_text(encoding="utf-8")
CELLS = re.findall(r"```python\n(.*?)\n```", PAGE, re.DOTALL)
(SHOWN,) = re.findall(r"```text\n(.*?)\n```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def cells() -> list[NotebookNode]:
    return run(*CELLS)


@pytest.mark.slow  # a kernel, which loads torch
def test_the_cells_of_the_page_show_what_it_says(cells: list[NotebookNode]) -> None:
    loaded, made, audited, checked, inside = map(shown, cells)
    assert (loaded, made) == ("", "")
    assert audited == SHOWN
    assert checked.startswith("cell 3, line 5: GL101 spent-gradient-reused")
    assert inside.startswith("The books balance")


@pytest.mark.slow
def test_each_verdict_of_the_page_is_html_that_fetches_nothing(cells: list[NotebookNode]) -> None:
    for cell in cells[2:]:
        html = shown(cell, "text/html")
        assert '<div class="gradledger' in html
        assert not re.search(r"<script|https?:|url\(|src=|href=|@import", html)


@pytest.mark.parametrize(
    ("tool", "package"),
    [
        ("JupyterLab", "jupyterlab"),
        ("Jupyter Notebook", "notebook"),
        ("nbclient", "nbclient"),
        ("IPython", "ipython"),
        ("marimo", "marimo"),
    ],
)
def test_the_versions_on_the_page_are_those_that_the_tests_run_with(
    tool: str, package: str
) -> None:
    (row,) = re.findall(rf"^\| {tool}.*$", PAGE, re.MULTILINE)
    assert version(package) in row

"""A notebook that the real marimo runs: the book and the finding display themselves."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest

from tests.integrations.cells import MAKE, TRAIN

CELLS = [
    f"import gradledger\n{MAKE}",
    f"with gradledger.audit() as book:\n{indent(TRAIN, '    ')}book\n",
    "book.findings[0]\n",
]


def notebook() -> str:
    """As marimo writes one; it finds out by itself which names a cell needs."""
    cells = "".join(f"\n\n@app.cell\ndef _():\n{indent(cell, '    ')}" for cell in CELLS)
    run = '\n\nif __name__ == "__main__":\n    app.run()\n'
    return f"import marimo\n\napp = marimo.App()\n{cells}{run}"


@pytest.mark.slow  # a process that loads marimo and torch
def test_the_book_and_the_finding_stand_under_their_cells(tmp_path: Path) -> None:
    (tmp_path / "notebook.py").write_text(notebook(), encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "marimo", "-q", "export", "html", "notebook.py", "-o", "page.html"],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)},
        check=True,
        timeout=300,
    )
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    shown = [json.loads(found) for found in re.findall(r'"text/html": ?("(?:[^"\\]|\\.)*")', page)]
    book, finding = (html for html in shown if '<div class="gradledger' in html)
    assert "The books do not balance: 1 error" in book
    assert "<svg" in book
    for html in (book, finding):
        assert "cell 2, line 5" in html, "cells are counted from the top"
        assert "optimizer.zero_grad()" in html, "the cure"

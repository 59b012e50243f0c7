"""`gradledger run notebook.ipynb`: its cells run in a real kernel, and are audited there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gradledger.runtime.launch.notebooks import check
from gradledger.runtime.launch.scripts import TargetError
from gradledger.runtime.program import notebook_cells
from gradledger.runtime.program.notebook_cells import shown_path
from tests.integrations.cells import MAKE, TRAIN, written


def run(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gradledger", "run", *options, path.name],
        cwd=path.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.slow  # a kernel, which loads torch
def test_cells_are_told_by_their_number_in_the_file_and_print_what_they_print(
    tmp_path: Path,
) -> None:
    cells = "# Training", f"{MAKE}\nprint('made')", "# And now", "", f"{TRAIN}6 * 7"
    path = written(tmp_path / "train.ipynb", *cells)
    before = path.read_bytes()
    done = run(path, "--fail-on", "error")
    assert done.stdout == "made\n42\n"
    assert done.stderr.startswith("train.ipynb:cell 5:4: GL101 spent-gradient-reused")
    assert "deposited  train.ipynb:cell 5:3  loss.backward()" in done.stderr
    assert done.returncode == 1
    assert path.read_bytes() == before


@pytest.mark.slow
def test_a_cell_that_fails_ends_it_with_its_traceback_and_leaves_no_window_over(
    tmp_path: Path,
) -> None:
    fails = "model(torch.ones(1, 4)).sum().backward()\n1 / 0"
    done = run(written(tmp_path / "train.ipynb", MAKE, fails, "print('never')"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "ZeroDivisionError: division by zero" in done.stderr
    assert "GL" not in done.stderr
    assert "\x1b" not in done.stderr, "no colour in a pipe"


@pytest.mark.slow
def test_an_error_that_a_cell_expects_is_no_end(tmp_path: Path) -> None:
    path = written(tmp_path / "train.ipynb", MAKE, "1 / 0", "print('on')")
    path.write_text(
        path.read_text().replace('"metadata": {}', '"metadata": {"tags": ["raises-exception"]}')
    )
    done = run(path)
    assert (done.returncode, done.stdout) == (0, "on\n")


def test_what_is_missing_is_said_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "train.ipynb", MAKE)
    found = {"nbclient": None, "nbformat": object(), "ipykernel": None}
    monkeypatch.setattr("gradledger.runtime.launch.notebooks.find_spec", found.__getitem__)
    with pytest.raises(TargetError) as refused:
        check(str(path), [])
    assert str(refused.value) == (
        f"to run {path}, nbclient and ipykernel must be installed: "
        "pip install 'gradledger[notebook]'"
    )


class OldCompiler:
    """As in IPython 7: there is no table of numbers, and ipykernel makes names of the text."""

    def get_code_name(self, raw: str, transformed: str, number: int) -> str:
        return f"/tmp/ipykernel_12/{hash(raw)}.py"


class OldShell:
    compile = OldCompiler()

    class history_manager:  # noqa: N801
        input_hist_raw = ("", "a = 1", "b = 2")


def test_cells_of_older_kernels_and_of_colab_have_their_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(notebook_cells, "_shell", OldShell)
    assert shown_path(f"/tmp/ipykernel_12/{hash('b = 2')}.py") == "<cell 2>"
    assert shown_path("/tmp/ipython-input-7-1234567.py") == "<cell 7>"
    assert shown_path("<ipython-input-7-0123456789ab>") == "<cell 7>"
    assert shown_path("/home/me/train.py") == "/home/me/train.py"

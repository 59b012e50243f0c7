"""By the lines of each page of docs/ alone, with gradledger from its wheel in a new environment."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.installed import Installed, installed
from tests.integrations.cells import written
from tests.server.programs import WRONG
from tests.server.test_neovim import NEOVIM, README, told_by_neovim

pytestmark = pytest.mark.slow  # a wheel is built, and each line loads torch or a framework
DOCS = Path(__file__).parents[2] / "docs"
TRAIN = WRONG.replace("in data:", "in [(torch.randn(4, 2), torch.randn(4, 1))] * 3:")


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def blocks(name: str, kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", page(name), re.DOTALL)


@pytest.fixture(scope="session")
def there(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return installed(tmp_path_factory)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder as the pages have it: train.py, and src with a copy."""
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text(TRAIN)
    return tmp_path


def test_it_is_the_wheel_that_is_tested(there: Installed, tmp_path: Path) -> None:
    done = there.run("python -c 'import gradledger; print(gradledger.__file__)'", folder=tmp_path)
    assert Path(done.stdout.strip()).is_relative_to(there.bin.parent)


def test_editors(there: Installed, project: Path) -> None:
    if NEOVIM is None:
        pytest.skip("there is no nvim here: apt-get install neovim")
    assert "gradledger server" in page("editors")
    (finding,) = told_by_neovim(project, README.read_text(), path=there.bin)
    assert finding["title"] == "Fix GL101 spent-gradient-reused"


def test_notebooks(there: Installed, tmp_path: Path) -> None:
    cells = blocks("notebooks", "python")
    written(tmp_path / "train.ipynb", *cells)
    (line,) = re.findall(r"^\$ (gradledger run .*)$", page("notebooks"), re.MULTILINE)
    done = there.run(line, folder=tmp_path)
    assert "GL101 spent-gradient-reused" in done.stdout + done.stderr


def programs(*, exact: bool) -> list[str]:
    """Of the page on frameworks: those with exact windows, or those that are audited."""
    found = [text for text in blocks("frameworks", "python") if "import torch" in text]
    return [text for text in found if ("Ledger" not in text and "ledger(" not in text) == exact]


@pytest.mark.parametrize("number", range(5))
def test_frameworks(number: int, there: Installed, tmp_path: Path) -> None:
    audited = programs(exact=False)
    assert len(audited) == 5
    (tmp_path / "train.py").write_text(audited[number])
    done = there.run("python train.py", folder=tmp_path)
    assert re.search(r"FindingWarning: train\.py:\d+: accumulation-|GL30[13]", done.stderr)


@pytest.mark.parametrize("number", range(3))
def test_exact_windows(number: int, there: Installed, tmp_path: Path) -> None:
    found = programs(exact=True)
    assert len(found) == 3
    (tmp_path / "train.py").write_text(found[number])
    done = there.run("python train.py", folder=tmp_path)
    assert "3 updates" in done.stdout
    assert "FindingWarning" not in done.stderr


def test_ci(there: Installed, project: Path) -> None:
    lines = re.findall(r"^\$ (gradledger .*)$", page("ci"), re.MULTILINE)
    run, reviewdog, log = lines
    there.run(run, folder=project, status=1)
    assert "GL101" in (project / "summary.md").read_text()
    done = there.run(reviewdog.partition("|")[0], folder=project)
    assert '"suggestions"' in done.stdout
    there.run(log.replace("wandb", "tensorboard"), folder=project)
    assert list((project / "runs" / "gradledger").glob("events.*"))


def test_testing(there: Installed, tmp_path: Path) -> None:
    for number, program in enumerate(blocks("testing", "python")):
        (tmp_path / f"test_{number}.py").write_text(program)
    done = there.run("python -m pytest -q -p no:cacheprovider", folder=tmp_path)
    assert "3 passed" in done.stdout
    (line,) = re.findall(r"^\$ (pytest --gradledger)$", page("testing"), re.MULTILINE)
    done = there.run(f"python -m {line} -q -p no:cacheprovider", folder=tmp_path)
    assert "3 passed" in done.stdout

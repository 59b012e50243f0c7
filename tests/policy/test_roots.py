from __future__ import annotations

from pathlib import Path

import pytest

from gradledger.policy.roots import roots


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package in a package, below a folder that is none."""
    inner = tmp_path / "project" / "pkg" / "inner"
    inner.mkdir(parents=True)
    for folder in (inner, inner.parent):
        (folder / "__init__.py").touch()
    (inner / "train.py").touch()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def marked_above(folder: Path) -> bool:
    signs = (".git", "pyproject.toml", "setup.py", "setup.cfg")
    return any((above / sign).exists() for above in folder.parents for sign in signs)


@pytest.fixture(autouse=True)
def _unmarked(tmp_path: Path) -> None:
    if marked_above(tmp_path / "x"):
        pytest.skip("the folder for temporary files lies in a project")


@pytest.mark.parametrize("path", [".", "pkg", "./pkg/inner", "pkg/inner/train.py", "none/x.py"])
def test_what_lies_below_the_working_directory_begins_there(path: str, project: Path) -> None:
    assert roots([path]) == (str(project),)


@pytest.mark.parametrize("sign", [".git", "pyproject.toml", "setup.py"])
def test_the_nearest_sign_of_a_project_is_its_top(
    sign: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.parent / "setup.cfg").touch()
    (project / sign).touch()
    monkeypatch.chdir("pkg/inner")
    assert roots([".", "train.py", "../.."]) == (str(project),)
    assert roots(["../../.."]) == (str(project.parent),)


def test_the_inside_of_a_package_is_no_beginning(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("pkg/inner")
    assert roots(["train.py"]) == (str(project),)


def test_a_folder_elsewhere_begins_with_itself(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert roots([str(project), str(project / "pkg" / "inner" / "train.py")]) == (str(project),)


def test_each_project_is_there_once(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "setup.py").touch()
    assert roots(["pkg", str(other), "pkg/inner"]) == (str(project), str(other))

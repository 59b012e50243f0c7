"""What is published, as far as that can be said without a network."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from release.long_description import described
from release.packages import ADDRESS, BUNDLE, ROOT, copy, declare
from release.pythons import pythons, supported

SOMEWHERE = "https://example.org/owner/name"
README = (ROOT / "README.md").read_text("utf-8")
RELATIVE = re.compile(r"\]\((?!https?:|#)|(?:src|srcset)=\"(?!https?:)")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Only what `declare` changes."""
    for name in ("pyproject.toml", "README.md"):
        (tmp_path / name).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    return tmp_path


@pytest.mark.parametrize("address", ["", SOMEWHERE], ids=["no address", "an address"])
def test_no_link_of_the_long_description_is_relative(address: str) -> None:
    assert RELATIVE.search(README)
    assert not RELATIVE.search(described(README, address, "v1.2.3"))


def test_links_and_pictures_are_those_of_the_released_tag() -> None:
    text = described(README, SOMEWHERE, "v1.2.3")
    assert f"[the auditor]({SOMEWHERE}/blob/v1.2.3/docs/auditor.md)" in text
    assert f"]({SOMEWHERE}/raw/v1.2.3/docs/pictures/report.png)" in text


def test_without_an_address_the_words_of_links_and_pictures_are_kept() -> None:
    text = described(README, "", "v1.2.3")
    assert "· the auditor ·" in text
    assert "*The page of a run: the books do not balance" in text
    assert "docs/pictures" not in text


def test_code_of_the_readme_is_left_as_it_is() -> None:
    code = "```python\nlosses[0](docs/x)\n```\n"
    assert described(code, SOMEWHERE, "v1") == code
    blocks = re.findall(r"^```.*?^```$", README, re.M | re.S)
    assert re.findall(r"^```.*?^```$", described(README, "", "v1"), re.M | re.S) == blocks


def test_links_that_are_absolute_already_stay() -> None:
    text = "[a](https://example.org/a) and [b](#here)"
    assert described(text, SOMEWHERE, "v1") == text


def test_no_address_is_invented(checkout: Path) -> None:
    assert ADDRESS == ""
    declare(checkout, ADDRESS)
    project = (checkout / "pyproject.toml").read_text("utf-8")
    assert project == (ROOT / "pyproject.toml").read_text("utf-8")
    assert "urls" not in project


def test_a_declared_address_is_in_the_metadata(checkout: Path) -> None:
    declare(checkout, SOMEWHERE)
    code = (
        "from setuptools.config.pyprojecttoml import read_configuration as read\n"
        "print(*read('pyproject.toml', expand=False)['project']['urls'].values(), sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split()[:2] == [SOMEWHERE, f"{SOMEWHERE}/issues"]
    assert f"{SOMEWHERE}/blob/v" in done.stdout


def test_only_tracked_files_and_the_bundle_are_published(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    copy(tmp_path)
    listed = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    there = {
        path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()
    }
    assert {"README.md", "src/gradledger/__init__.py", "web/building.py"} <= there
    assert {name for name in there if not name.startswith(BUNDLE)} <= set(listed)


def test_every_python_that_is_named_is_tried_or_said_to_be_missing(tmp_path: Path) -> None:
    assert supported() == ["3.10", "3.11", "3.12", "3.13"]
    for name in ("3.12.2", "3.12.10", "3.12.10-debug"):
        python = tmp_path / name / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.touch()
    found = dict(pythons(tmp_path))
    assert list(found) == supported()
    assert found["3.12"] == str(tmp_path / "3.12.10" / "bin" / "python")

"""What is built from a checkout has the report's script in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.once import once

ROOT = Path(__file__).parent.parent
BUNDLE = "gradledger/report/page/bundle/"
NEEDED = ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "src", "web")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source distribution, and a wheel that was made from it where there is no Node.js."""
    with once("built", tmp_path_factory) as (folder, first):
        if first:
            ignored = shutil.ignore_patterns("node_modules", "__pycache__", "*.egg-info")
            for name in NEEDED:
                if (ROOT / name).is_dir():
                    shutil.copytree(ROOT / name, folder / name, ignore=ignored)
                else:
                    shutil.copy(ROOT / name, folder)
            build(folder, PATH="/nowhere")
        return folder / "dist"


def build(folder: Path, **environ: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "."],
        cwd=folder,
        check=True,
        capture_output=True,
        env={**os.environ, **environ},
    )


@pytest.mark.slow
def test_the_wheel_has_the_script_the_style_and_their_licenses(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    wanted = {f"{BUNDLE}{name}" for name in ("page.js", "style.css", "THIRD_PARTY.txt")}
    assert wanted <= set(names)
    assert "gradledger/report/page/templates/page.html" in names
    assert not any(name.startswith("web/") for name in names)


@pytest.mark.slow
def test_the_source_distribution_has_them_too_and_what_they_are_made_from(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"src/{BUNDLE}page.js", "web/src/main.ts", "web/package-lock.json"} <= names
    assert not any("node_modules" in name for name in names)


@pytest.mark.slow
def test_licenses_of_what_is_bundled_are_told(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    text = zipfile.ZipFile(wheel).read(f"{BUNDLE}THIRD_PARTY.txt").decode()
    for words in ("echarts", "Apache License", "zrender", "BSD 3-Clause License", "tslib"):
        assert words in text


def test_the_bundle_is_made_from_the_sources_that_are_here() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import building; print(building._is_made())"],
        cwd=ROOT / "web",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "True\n"


def test_the_lock_file_names_no_registry() -> None:
    lock = (ROOT / "web" / "package-lock.json").read_text("utf-8")
    assert '"resolved"' not in lock
    assert "registry" not in lock

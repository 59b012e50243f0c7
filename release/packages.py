"""The sdist and the wheel, built from the tracked files alone, in a folder of their own."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from release.long_description import described

ROOT = Path(__file__).resolve().parent.parent
ADDRESS = ""
"""The public address of the repository, once it has one. GRADLEDGER_REPOSITORY overrides it."""
PARTS = ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "src", "web")
BUNDLE = "src/gradledger/report/page/bundle"


def build(dist: Path, address: str = ADDRESS) -> tuple[Path, Path]:
    """The sdist, and the wheel that is made from it."""
    with tempfile.TemporaryDirectory(prefix="gradledger-build-") as folder:
        checkout = Path(folder) / "gradledger"
        copy(checkout)
        declare(checkout, address.rstrip("/"))
        command = [sys.executable, "-m", "build", "--outdir", str(dist), str(checkout)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    (sdist,) = dist.glob("*.tar.gz")
    (wheel,) = dist.glob("*.whl")
    return sdist, wheel


def copy(to: Path) -> None:
    """What is tracked, so that nothing else is published, and the bundle if it has been made."""
    listed = subprocess.check_output(["git", "ls-files", "-z", *PARTS], cwd=ROOT, text=True)
    for name in filter(None, listed.split("\0")):
        target = to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    if (ROOT / BUNDLE).is_dir():
        # The build backend makes it anew if it was made from other sources.
        shutil.copytree(ROOT / BUNDLE, to / BUNDLE, dirs_exist_ok=True)


def declare(checkout: Path, address: str) -> None:
    """Writes the address into the metadata, and a README that can be read away from it."""
    project = checkout / "pyproject.toml"
    text = project.read_text("utf-8")
    version = text.partition('\nversion = "')[2].partition('"')[0]
    readme = checkout / "README.md"
    readme.write_text(described(readme.read_text("utf-8"), address, f"v{version}"), "utf-8")
    if address:
        project.write_text(f"{text.rstrip()}\n\n{_urls(address, version)}", "utf-8")


def _urls(address: str, version: str) -> str:
    return "\n".join(
        [
            "[project.urls]",
            f'Repository = "{address}"',
            f'Issues = "{address}/issues"',
            f'Documentation = "{address}/blob/v{version}/docs/README.md"',
            f'Changelog = "{address}/blob/v{version}/CHANGELOG.md"',
            "",
        ]
    )

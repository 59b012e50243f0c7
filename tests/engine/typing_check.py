"""User code under mypy --strict: what is right passes, and what is wrong is an error.

`make check` runs it: mypy reads all of torch for it, which takes long the first time.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
TYPED = Path(__file__).parent / "programs" / "typed.py"
MISTYPED = Path(__file__).parent / "programs" / "mistyped.txt"
CACHE = ROOT / ".mypy_cache" / "typing"
"""Its own, or mypy on the project would find torch read with other settings; kept between runs."""


def mypy(folder: Path) -> list[str]:
    """What mypy --strict says of the programs, line by line; nobody's settings but its own."""
    wrong = folder / "mistyped.py"
    shutil.copy(MISTYPED, wrong)
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary"),
            *("--no-pretty", "--python-version=3.10", f"--cache-dir={CACHE}"),
            *(str(TYPED), str(wrong)),
        ],
        cwd=TYPED.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return [*ran.stdout.splitlines(), *ran.stderr.splitlines()]


def marked(kind: str) -> dict[int, str]:
    """What the lines of the wrong program announce."""
    lines = enumerate(MISTYPED.read_text().splitlines(), 1)
    return {at: match[1] for at, line in lines if (match := re.search(kind, line))}


def said(lines: list[str], kind: str) -> dict[int, str]:
    """What mypy says of the wrong program, by line."""
    found = (re.search(rf"mistyped\.py:(\d+): {kind}$", line) for line in lines)
    return {int(match[1]): match[2] for match in found if match}


def faults(lines: list[str]) -> Iterator[str]:
    """What mypy should not have said, or did not say."""
    for line in lines:
        if "mistyped" not in line:
            yield f"user code that uses the whole API should pass: {line}"
    errors, wrong = said(lines, r"error: .*\[([a-z-]+)\]"), marked(r"# error: ([a-z-]+)$")
    for at in sorted(errors.keys() | wrong.keys()):
        if errors.get(at) != wrong.get(at):
            yield f"{MISTYPED.name}:{at}: {errors.get(at)} in place of {wrong.get(at)}"
    revealed = said(lines, r'note: Revealed type is "(.*)"')
    kept = marked(r"reveal_type.*# (\w+)$")
    for at in sorted(revealed.keys() | kept.keys()):
        if at not in kept or not re.search(rf"\b{kept[at]}\b", revealed.get(at, "")):
            yield f"{MISTYPED.name}:{at}: {revealed.get(at)} in place of {kept.get(at)}"


if __name__ == "__main__":
    with TemporaryDirectory() as temporary:
        found = list(faults(mypy(Path(temporary))))
    print("\n".join(found) or "The types of the API are those that user code counts on.")
    sys.exit(bool(found))

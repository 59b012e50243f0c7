"""`python -m benchmarks.training_tree FOLDER`: how long a tree of training repositories takes.

FOLDER has one checked-out repository in each of its folders. Nothing of it is kept: it is other
people's code. CPU time of all processes, next to what ruff takes for syntax errors and undefined
names: without a cache, and the second time with one. Then the largest repository once more, after
an edit of one file that trains; and the repositories that take longest, each by itself.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.linting import GRADLEDGER, LINTERS, run
from benchmarks.measure import measure
from benchmarks.suites.startup import children_cpu

GOALS = {"gradledger check --no-cache": 4.0, "gradledger check, the second time": 0.3}
LONGEST = 10.0
"""Seconds that one repository may take."""
EDITED = 0.3
"""Seconds that a repository may take of which one file was edited since the last time."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints what was measured; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training_tree", description=__doc__)
    parser.add_argument("folder", type=Path, help="one repository in each of its folders")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured")
    options = parser.parse_args(arguments)
    repositories = repositories_in(options.folder)
    if not repositories:
        parser.error(f"there is no repository in {options.folder}")
    with tempfile.TemporaryDirectory() as place:
        work = Path(place, "work")
        work.mkdir()
        missed = whole_tree(repositories, work, rounds=options.rounds)
        missed += edited(repositories, work, rounds=options.rounds)
        missed += longest(repositories, work)
    return bool(missed)


def repositories_in(folder: Path) -> list[Path]:
    """The folders in it with Python in them."""
    found = sorted(path.resolve() for path in folder.iterdir() if path.is_dir())
    return [path for path in found if next(path.rglob("*.py"), None) is not None]


def whole_tree(repositories: Sequence[Path], work: Path, *, rounds: int) -> int:
    """All of them at once. The number of goals that are missed."""
    paths = list(map(str, repositories))
    ruff = next(linter for linter in LINTERS if linter.name == "ruff")
    first, second = GOALS
    commands = {
        "ruff check": [*ruff.words(), "--quiet", *paths],
        first: [*GRADLEDGER, "--quiet", *paths],
        second: [*_with_cache(), "--quiet", *paths],
    }
    candidates = {name: _running(command, work) for name, command in commands.items()}
    candidates[second]()  # so that there is a cache
    rows = measure(candidates, rounds=rounds, clock=children_cpu, goals=GOALS)
    print(f"{len(repositories)} repositories, CPU time")
    for row in rows:
        goal = GOALS.get(row.name)
        told = f", goal {goal}" if goal else ""
        print(f"  {row.name}: {row.seconds or 0:.2f} s, {row.ratio or 0:.2f} of ruff's{told}")
    return sum(row.name in GOALS and (row.ratio or 0) > GOALS[row.name] for row in rows)


def edited(repositories: Sequence[Path], work: Path, *, rounds: int) -> int:
    """A copy of the largest one, checked again after each edit of one file. 1 if that is too long.

    The file is the first that trains; nothing that it defines changes.
    """
    largest = max(repositories, key=lambda path: sum(1 for _ in path.rglob("*.py")))
    copy = work.resolve().parent / "edited"
    # Old dates: of files that have just been written, nothing is kept.
    shutil.copytree(largest, copy, symlinks=True)
    file = next((path for path in sorted(copy.rglob("*.py")) if _trains(path)), None)
    if file is None:
        print(f"Nothing trains in {largest.name}: not edited")
        return 0
    command = [*_with_cache(), "--quiet", "."]
    _seconds(command, copy)
    taken = []
    for number in range(rounds):
        with file.open("a", encoding="utf-8") as text:
            text.write(f"\n# edit {number}\n")
        os.utime(file, (number, number))
        taken.append(_seconds(command, copy))
    seconds = statistics.median(taken)
    print(f"{largest.name} after an edit of one file: {seconds:.2f} s, goal {EDITED:g} s")
    return int(seconds > EDITED)


def _trains(path: Path) -> bool:
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    return ".backward()" in text and ".step()" in text


def _with_cache() -> list[str]:
    return [word for word in GRADLEDGER if word != "--no-cache"]


def longest(repositories: Sequence[Path], work: Path, *, shown: int = 10) -> int:
    """Each by itself, those that take longest first. The number that take too long."""
    seconds = {path: _seconds([*GRADLEDGER, "--quiet", str(path)], work) for path in repositories}
    ordered = sorted(seconds.items(), key=lambda item: -item[1])
    print(f"Longest by themselves, CPU time (goal: {LONGEST:g} s)")
    for path, each in ordered[:shown]:
        print(f"  {each:6.2f} s  {path.name}")
    return sum(each > LONGEST for each in seconds.values())


def _seconds(command: list[str], work: Path) -> float:
    begun = children_cpu()
    _running(command, work)()
    return children_cpu() - begun


def _running(command: list[str], work: Path) -> Callable[[], object]:
    return partial(run, command, work, caches=work.resolve().parent / "cache")


if __name__ == "__main__":
    sys.exit(main())

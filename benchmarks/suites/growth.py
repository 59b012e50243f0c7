"""How cost grows: with parameters, windows, steps and lines of code."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import torch
from torch.optim import AdamW

from benchmarks.measure import growth, measure
from benchmarks.results import Growth, Results, versions
from benchmarks.suites.stepper import bare, plain, stepped
from benchmarks.tasks import Task, Way, chain

ABOUT = """\
A slope of 1 means that twice as much takes twice as long, 0 that it takes the same. It is that of \
a line through the upper half of the points; the lower half shows what is paid once. Updates in \
medians of interleaved runs; the long runs one after the other, each in a process of its own; \
trees of files that are drawn at random from the installed packages, in wall time."""
TENSORS = (10, 30, 100, 300, 1_000, 3_000, 10_000)
WINDOWS = (1, 2, 4, 8, 16, 32, 64)
STEPS = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
LINES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 2_000_000, 5_000_000)
MODES = {"plain run": "plain", "audit()": "audit", "audit(record=…)": "record"}


def by_parameters(tensors: Sequence[int]) -> Growth:
    """An update of a model that has ever more tensors."""
    ways: dict[str, Way] = {
        "plain loop": plain,
        "plain loop, fused=True": partial(plain, fused=True),
        "Stepper": stepped,
        "forward and backward alone": bare,
    }
    return growth(
        "Parameters: an update of so many tensors of 16x16, AdamW, clipped",
        "tensors",
        "ms per update",
        tensors,
        _updates(ways, [(count, 1) for count in tensors]),
    )


def by_window(windows: Sequence[int]) -> Growth:
    """An update that is made of ever more micro-batches."""
    ways: dict[str, Way] = {"plain loop": plain, "Stepper": stepped}
    return growth(
        "Windows: an update of 200 tensors of 16x16, AdamW, clipped, after so many micro-batches",
        "micro-batches in a window",
        "ms per update",
        windows,
        _updates(ways, [(200, window) for window in windows]),
    )


def _updates(ways: dict[str, Way], points: list[tuple[int, int]]) -> dict[str, list[float]]:
    """Milliseconds per update of each way, for every number of tensors and every window."""
    series: dict[str, list[float]] = {name: [] for name in ways}
    for tensors, window in points:
        task = Task("growth", partial(chain, tensors), AdamW, (32, 16), 16)
        data = task.data(window)
        work = {name: partial(way(task, window).run, data) for name, way in ways.items()}
        rows = measure(work, rounds=max(5, min(21, 6_000 // (tensors * window))))
        for row in rows:
            series[row.name].append(1e3 * (row.seconds or 0.0))
    return series


def by_steps(steps: Sequence[int]) -> dict[str, Growth]:
    """A run that goes on and on, in a process of its own for each way to watch it."""
    seen = {name: list(zip(*_long_run(mode, steps), strict=True)) for name, mode in MODES.items()}
    times = {name: [1e6 * each for each in columns[0]] for name, columns in seen.items()}
    memory = {name: [each / 1e6 for each in columns[1]] for name, columns in seen.items()}
    kept = {"audit(record=…)": [each / 1e6 for each in seen["audit(record=…)"][2]]}
    run = "MLP 10-32-1, AdamW"
    return {
        "steps.time": growth(
            f"Steps: the time of a step, {run}", "steps so far", "µs of CPU time", steps, times
        ),
        "steps.memory": growth(
            f"Steps: memory, {run}", "steps so far", "MB resident", steps, memory
        ),
        "steps.recording": growth(
            f"Steps: the recording, {run}", "steps so far", "MB on disk", steps, kept
        ),
    }


def _long_run(mode: str, steps: Sequence[int]) -> list[list[float]]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.longrun", mode, json.dumps(steps), folder]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    seen: list[list[float]] = json.loads(done.stdout)
    return seen


def by_lines(lines: Sequence[int]) -> Growth:
    """Trees of ever more files, drawn from the installed packages."""
    check = [sys.executable, "-m", "gradledger", "check", "--exit-zero", "--quiet", "tree"]
    ruff = [str(Path(sys.executable).with_name("ruff")), "check", "--exit-zero", "--quiet", "tree"]
    commands = {
        "ruff check": [*ruff, "--select", "E9,F821", "--no-cache", "--isolated"],
        "gradledger check": [*check, "--no-cache"],
        "gradledger check, cached": check,
    }
    series: dict[str, list[float]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "work")
        for _ in grown(place / "tree", lines):
            work = {name: _running(command, place) for name, command in commands.items()}
            for row in measure(work, rounds=3, clock=time.perf_counter):
                series[row.name].append(row.seconds or 0.0)
    return growth(
        "Lines: checking a tree of so many lines",
        "lines of Python",
        "s",
        lines,
        series,
        note="ruff looks for syntax errors and undefined names alone (E9, F821), without a cache.",
    )


def grown(tree: Path, lines: Sequence[int]) -> Iterator[int]:
    """Makes the tree larger, and yields each time that it has so many lines.

    Files are drawn at random from all packages, and keep their place in theirs, so that a small
    tree is a small picture of the large one. Where all are in it, they are copied once more.
    """
    packages = Path(sysconfig.get_path("purelib"))
    files = sorted(path for path in packages.rglob("*.py") if path.is_file())
    random.Random(0).shuffle(files)
    count, copies = 0, 0
    drawn: Iterator[Path] = iter(())
    for wanted in lines:
        while count < wanted:
            path = next(drawn, None)
            if path is None:
                drawn, copies = iter(files), copies + 1
                continue
            copy = tree / f"copy{copies}" / path.relative_to(packages)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            count += path.read_bytes().count(b"\n")
        yield count


def _running(command: list[str], folder: Path) -> Callable[[], object]:
    # As installed: with compiled modules, whatever this shell says, and a cache beside the folder.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    env["XDG_CACHE_HOME"] = str(folder.parent / "cache")
    return partial(
        subprocess.run, command, cwd=folder, env=env, stdout=subprocess.DEVNULL, check=True
    )


def results(quick: bool) -> Results:
    """Everything that grows; quick leaves out the largest."""
    torch.set_num_threads(1)
    return Results(
        "growth",
        "How cost grows",
        ABOUT,
        {
            "parameters": by_parameters(TENSORS[:5] if quick else TENSORS),
            "window": by_window(WINDOWS[:5] if quick else WINDOWS),
            **by_steps(STEPS[:5] if quick else STEPS),
            "lines": by_lines(LINES[:4] if quick else LINES),
        },
        quick,
        versions=versions(["gradledger", "torch", "ruff"]),
    )

"""What one checkout of gradledger says of each repository in a folder, and what that costs.

A repository is checked in a process of its own, without a cache and without the repository on the
import path. Its CPU time is bounded, so that one repository cannot stop the others; a crash is a
result like any other.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

SECONDS = 60
"""CPU seconds for one repository."""
PATIENCE = 20
"""So many times that in all, for a process that waits, or a machine that is busy."""

_PROGRAM = """\
import resource, runpy, sys
sys.path[:] = filter(None, sys.path)  # nothing of a repository may be imported
seconds = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
runpy.run_module("gradledger", run_name="__main__", alter_sys=True)
"""
_OPTIONS = ("check", "--no-cache", "--exit-zero", "--jobs", "1", "--format", "json")


@dataclass(frozen=True, order=True)
class Place:
    """A line of a repository's file; of a notebook, a line of a cell."""

    repository: str
    path: str
    line: int
    cell: int | None = None

    def __str__(self) -> str:
        cell = "" if self.cell is None else f":cell {self.cell}"
        return f"{self.repository} {self.path}{cell}:{self.line}"


@dataclass(frozen=True)
class Found:
    """A finding, as the JSON report has it."""

    rule: str
    place: Place
    severity: str
    certainty: str
    message: str

    def __str__(self) -> str:
        return f"{self.rule} {self.place} {self.severity}, {self.certainty}: {self.message}"


@dataclass(frozen=True)
class Unfollowed:
    """A root that could not be followed to its end."""

    place: Place
    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.place} {self.what}: {self.why}"


@dataclass(frozen=True)
class Checked:
    """What was said of one repository."""

    repository: str
    findings: tuple[Found, ...] = ()
    unknown: tuple[Unfollowed, ...] = ()
    files: int = 0
    followed: int = 0
    hidden: int = 0
    """Findings that are only shown with `--possible`."""
    seconds: float = 0.0
    """CPU time."""
    failure: str = ""
    """Why there is no report: it crashed, or took too long."""


class NotACheckout(ValueError):
    """The folder has no gradledger in it, or Python finds another one."""


def name_of(folder: Path) -> str:
    """owner/name of a repository's folder `owner__name`, `owner+name` or `owner__name@commit`."""
    name = folder.name.partition("@")[0]
    mark = "__" if "__" in name else "+"
    return name.replace(mark, "/", 1)


def repositories(folder: Path) -> list[Path]:
    """The folders in it, by name."""
    return sorted(path for path in folder.resolve().iterdir() if _is_repository(path))


def _is_repository(path: Path) -> bool:
    return path.is_dir() and not path.name.startswith(".")


def verified(tree: Path) -> Path:
    """The checkout, if Python imports gradledger from there."""
    tree = tree.resolve()
    command = [sys.executable, "-c", "import gradledger; print(gradledger.__file__)"]
    done = subprocess.run(
        command, env=_environment(tree), cwd=tree.anchor, capture_output=True, text=True
    )
    if not Path(done.stdout.strip()).is_relative_to(tree / "src"):
        raise NotACheckout(f"{tree} is no checkout of gradledger: there is no src/gradledger in it")
    return tree


def check_all(
    tree: Path,
    folders: Sequence[Path],
    *,
    possible: bool = False,
    seconds: int = SECONDS,
    jobs: int | None = None,
) -> Iterator[Checked]:
    """What the checkout says of each repository, in their order, as they are done."""
    check = partial(check_one, verified(tree), possible=possible, seconds=seconds)
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        yield from pool.map(check, folders)


def check_one(
    tree: Path,
    folder: Path,
    *,
    paths: Sequence[str] = (".",),
    possible: bool = False,
    seconds: int = SECONDS,
) -> Checked:
    """What the checkout says of one repository, or of some files of it."""
    options = [*_OPTIONS, *(["--possible"] if possible else []), "--", *paths]
    command = [sys.executable, "-c", _PROGRAM, str(seconds), *options]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=_environment(tree),
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        status, used = _wait(process, seconds * PATIENCE)
        output.seek(0)
        errors.seek(0)
        said, why = output.read(), errors.read().decode(errors="replace")
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return Checked(folder.name, seconds=used, failure=f"took more than {seconds} s")
    if status != 0:
        last = (why.strip() or "said nothing").splitlines()[-1]
        return Checked(folder.name, seconds=used, failure=f"ended with status {status}: {last}")
    return _from_report(folder.name, json.loads(said), used)


def _wait(process: subprocess.Popen[bytes], patience: float) -> tuple[int, float]:
    """Its exit status, and the CPU seconds of it and of what it started."""
    timer = threading.Timer(patience, os.killpg, (process.pid, signal.SIGKILL))
    timer.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    finally:
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime


def _environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(tree / "src")}


def _from_report(repository: str, report: Mapping[str, Any], used: float) -> Checked:
    def place(row: Mapping[str, Any]) -> Place:
        return Place(repository, row["path"], row["line"], row.get("cell"))

    stats = report["stats"]
    return Checked(
        repository,
        tuple(
            Found(
                row["rule"],
                place(row),
                row["severity"],
                row["certainty"],
                ": ".join(filter(None, (row["message"], row.get("detail")))),
            )
            for row in report["findings"]
        ),
        tuple(Unfollowed(place(row), row["what"], row["why"]) for row in report["unknown"]),
        stats["files"],
        stats["followed"],
        stats["unshown"],
        round(used, 2),
    )


def save(checked: Sequence[Checked], path: Path) -> None:
    """Keeps what was said, to be compared or scored later."""
    rows = [asdict(each) for each in checked]
    path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def load(path: Path) -> list[Checked]:
    """What `save` kept."""
    return [_restored(row) for row in json.loads(path.read_text(encoding="utf-8"))]


def _restored(row: dict[str, Any]) -> Checked:
    known = {field.name for field in fields(Checked)}
    values = {name: value for name, value in row.items() if name in known}
    values["findings"] = tuple(
        Found(**{**each, "place": Place(**each["place"])}) for each in row["findings"]
    )
    values["unknown"] = tuple(
        Unfollowed(**{**each, "place": Place(**each["place"])}) for each in row["unknown"]
    )
    return Checked(**values)

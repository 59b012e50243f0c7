"""Finds the recordings that were named, and those of the other ranks of the same run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gradledger.errors import GradledgerError, RecordingError
from gradledger.recording import Recording, RunInfo, rank_path

if TYPE_CHECKING:
    from gradledger.report.chronicle import Chronicle


class RecordingsError(GradledgerError):
    """These recordings can't be combined in one report."""


def chronicles(names: Sequence[str]) -> tuple[Chronicle, ...]:
    """The chronicles of the recordings, by rank."""
    from gradledger.report.chronicle import told

    found = []
    for path in recordings(names):
        with Recording(path) as recording:
            found.append(told(recording))
    return tuple(sorted(found, key=lambda one: one.run.rank))


def recordings(names: Sequence[str]) -> tuple[Path, ...]:
    """The recordings of the run. One name means all ranks, several names mean only those."""
    if len(names) == 1:
        return tuple(_all_ranks(Path(names[0])))
    by_rank: dict[int, Path] = {}
    for path in map(Path, names):
        rank = _run(path).rank
        if rank in by_rank:
            raise RecordingsError(
                f"{by_rank[rank]} and {path} are both of rank {rank}, so they are of two runs. "
                "To compare them, add --diff; else name one."
            )
        by_rank[rank] = path
    return tuple(by_rank.values())


def _all_ranks(named: Path) -> Iterator[Path]:
    """The recording itself, or `run.rank0.gradledger` if `run.gradledger` was named."""
    first = named
    if not named.exists():
        ranks = [path for path in _beside(named) if _rank_of(path) == 0]
        if not ranks:
            yield named  # opening it will report what is wrong
            return
        first = max(ranks, key=lambda path: _run(path).started_at)
    yield first
    run = _run(first)
    if run.world_size > 1:
        for rank in range(run.world_size):
            if rank != run.rank and (of_rank := _closest(first, run, rank)):
                yield of_rank


def _closest(first: Path, run: RunInfo, rank: int) -> Path | None:
    """The recording of another rank of the same launch.

    A restarted job leaves several of each rank. Those of one start began at nearly the same time.
    """
    found: dict[Path, float] = {}
    for path in _beside(first):
        if _rank_of(path) == rank:
            other = _run(path)
            if (other.launch, other.world_size) == (run.launch, run.world_size):
                found[path] = abs((other.started_at - run.started_at).total_seconds())
    return min(found, key=lambda path: found[path], default=None)


_RANK = re.compile(r"\.rank(\d+)(?:\.\d+)?$")


def _rank_of(path: Path) -> int | None:
    found = _RANK.search(path.stem)
    return int(found[1]) if found else None


def _beside(path: Path) -> Iterator[Path]:
    """The recordings of ranks in the same folder and with the same name."""
    stem = _RANK.sub("", path.stem)
    whole = path.with_name(f"{stem}{path.suffix}")
    if not whole.parent.is_dir():
        return
    for other in sorted(whole.parent.iterdir()):
        rank = _rank_of(other)
        if rank is None or other.suffix != path.suffix:
            continue
        regular = rank_path(whole, rank=rank, world_size=2)
        if other == regular or re.fullmatch(
            rf"{re.escape(regular.stem)}\.\d+{re.escape(regular.suffix)}", other.name
        ):
            yield other


def _run(path: Path) -> RunInfo:
    with Recording(path) as recording:
        return recording.run


__all__ = ["RecordingError", "RecordingsError", "chronicles", "recordings"]

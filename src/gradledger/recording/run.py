"""Information about the run that was recorded."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from gradledger.recording.text import from_sql, to_sql


def _now() -> datetime:
    return datetime.now(timezone.utc)


def _python() -> dict[str, str]:
    return {"python": platform.python_version()}


@dataclass(frozen=True, slots=True)
class RunInfo:
    """The script, its arguments, the versions, the rank, and when it started."""

    script: str
    argv: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=_python)
    """Of whatever decides what the run does: python, torch, gradledger."""
    rank: int = 0
    world_size: int = 1
    launch: str = ""
    """The same for all ranks of one launch, and another after a restart."""
    started_at: datetime = field(default_factory=_now)

    def to_row(self) -> tuple[Any, ...]:
        """The first columns of the table `run`."""
        return (
            to_sql(self.script),
            json.dumps(self.argv),
            json.dumps(dict(self.versions)),
            self.rank,
            self.world_size,
            to_sql(self.launch),
            self.started_at.isoformat(),
        )

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> RunInfo:
        """What `to_row` told."""
        script, argv, versions, rank, world_size, launch, started_at = row
        return cls(
            from_sql(script),
            tuple(json.loads(argv)),
            json.loads(versions),
            rank,
            world_size,
            from_sql(launch),
            datetime.fromisoformat(started_at),
        )

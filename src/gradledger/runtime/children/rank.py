"""The rank of a process, from its launcher or from its own process group."""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

from gradledger.ledger.events import Backward, Event

_LAUNCH = ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT")


class Rank(NamedTuple):
    """One of several."""

    rank: int
    world: int
    launch: str
    """The same for all ranks that train together."""

    @property
    def claim(self) -> str:
        """What processes inherit that it starts: they have its environment, and are not it."""
        return f"{self.rank}/{self.world}/{self.launch}"


class OfThisProcess:
    """Hears the events of an audit, and looks at its first backward pass which rank this is.

    Frameworks start the other ranks from the first one, which is told by nobody. At the end, the
    process group may be gone.
    """

    def __init__(self) -> None:
        self.found: Rank | None = None
        self._looked = False

    def hear(self, event: Event, findings: object) -> None:
        """Told of each event."""
        if not self._looked and isinstance(event, Backward):
            self._looked = True
            self.found = told_by_group()


def told_by_launcher() -> Rank | None:
    """As torchrun tells it by the environment; None where there is only one."""
    told = os.environ
    try:
        rank, world = int(told["RANK"]), int(told["WORLD_SIZE"])
    except (KeyError, ValueError):
        return None
    return Rank(rank, world, _launch()) if world > 1 and "MASTER_PORT" in told else None


def told_by_group(inherited: object = None) -> Rank | None:
    """As the process group of this process tells it, if it has one that no fork has brought."""
    group = process_group()
    if group is None or group is inherited:
        return None
    rank, world = int(group.rank()), int(group.size())
    return Rank(rank, world, _launch()) if world > 1 else None


def process_group() -> Any:
    """The default process group, where torch.distributed has been initialised."""
    c10d: Any = sys.modules.get("torch.distributed.distributed_c10d")
    world = getattr(c10d, "GroupMember", None)
    return getattr(world, "WORLD", None)


def _launch() -> str:
    return " ".join(os.environ.get(name, "") for name in _LAUNCH)

"""One verdict for all ranks of a launch: each leaves its report, and rank 0 reads them all.

No collective is used for it: a job whose ranks have lost each other must not hang because of us.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from time import monotonic, sleep

from gradledger.rules.ranks import Testimony
from gradledger.runtime.processes.exit_causes import lives
from gradledger.runtime.processes.rank_reports import decoded, encoded
from gradledger.runtime.processes.rendezvous import Machines

PATIENCE = 60.0
"""Seconds that rank 0 waits for the others, once it is done itself."""
HASTE = 5.0
"""The same for a rank that died: others may wait for it, and torchrun soon ends them all."""
HESITATION = 0.5
"""Seconds in which a rank that died sees who died before it: a connection is closed a moment before
the process is gone that had it."""


class Ranks:
    """The ranks of this launch on this machine."""

    def __init__(self, rank: int, world: int, launch: str) -> None:
        self.rank = rank
        self.world = world
        user = os.getuid() if hasattr(os, "getuid") else 0
        self._machines = Machines()
        self._folder = Path(tempfile.gettempdir(), f"gradledger-{user}-{launch}")

    @classmethod
    def of_this_launch(cls) -> Ranks | None:
        """None where there is only one."""
        told = os.environ
        try:
            rank, world = int(told["RANK"]), int(told["WORLD_SIZE"])
        except (KeyError, ValueError):
            return None
        if world < 2 or "MASTER_PORT" not in told:
            return None
        names = ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT")
        launch = hashlib.sha256("\0".join(told.get(name, "") for name in names).encode())
        return cls(rank, world, launch.hexdigest()[:16])

    def meeting_of(self, rank: int) -> str:
        """How the folder is called where processes meet that this rank has started."""
        return f"{self._folder.name}-{rank}-"

    def arrive(self) -> None:
        """Tell the others that this rank is audited, and by which process."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._is_ours()
        # An earlier launch with the same address may have been killed before it tidied up.
        self._forget(self.rank)
        self._write(f"{self.rank}.pid", str(os.getpid()))
        self._machines.announce(self.rank)

    def note(self, testimony: Testimony) -> None:
        """Leave what this rank would have to say if it died now."""
        with contextlib.suppress(OSError):  # the disk is full, say, and later it is not
            self._write(f"{self.rank}.noted.json", encoded(testimony))

    def leave(self, testimony: Testimony) -> None:
        """Leave what this rank has to say."""
        with contextlib.suppress(FileNotFoundError):  # the verdict is out, and the folder gone
            self._write(f"{self.rank}.json", encoded(testimony))
        if self._machines.several and not self._machines.first:
            self._leave_for_other_machine(testimony)

    def _leave_for_other_machine(self, testimony: Testimony) -> None:
        """Leave it where rank 0 is on another machine, with what ranks of this one noted and died.

        Nothing of it stays here.
        """
        said = {self.rank: testimony}
        for rank in range(self.world):
            left = (self._folder / f"{rank}.json").exists()
            if rank != self.rank and not left and not self._lives(rank):
                with contextlib.suppress(OSError):
                    noted = decoded((self._folder / f"{rank}.noted.json").read_text("utf-8"))
                    said[rank] = noted._replace(end="died", whole=False)
        if self._machines.leave(said):
            for rank in said:
                self._forget(rank)
            with contextlib.suppress(OSError):  # others are still there
                self._folder.rmdir()

    def speaks(self, patience: float = 0.0) -> bool:
        """Is the verdict this rank's? It is rank 0's, or the next one's that has survived it.

        For so long it is waited for those before it to end.
        """
        if self.rank == 0:
            return True
        deadline = monotonic() + patience
        while (self._folder / "0.pid").exists():  # else on another machine, or done
            if not any(map(self._lives, range(self.rank))):
                return True
            if monotonic() > deadline:
                break
            sleep(0.02)
        return False

    def gather(self, patience: float = PATIENCE) -> dict[int, Testimony]:
        """What the other ranks have to say; what they have noted, where they died or go on.

        Those on other machines are heard through the job's own store.
        """
        found: dict[int, Testimony] = {}
        deadline = monotonic() + patience
        while True:
            # Asked before the look at what is there: who ends in between has left something.
            living = {rank for rank in self._missing(found) if self._lives(rank)}
            for rank in self._missing(found):
                with contextlib.suppress(FileNotFoundError):
                    found[rank] = decoded((self._folder / f"{rank}.json").read_text("utf-8"))
            living.difference_update(found)
            if not living or monotonic() > deadline:
                break
            sleep(0.05)
        for rank in self._missing(found):
            with contextlib.suppress(FileNotFoundError):
                noted = decoded((self._folder / f"{rank}.noted.json").read_text("utf-8"))
                end = "had not ended" if rank in living else "died"
                found[rank] = noted._replace(end=end, whole=False)
        dead = [rank for rank in range(self.world) if not self._lives(rank)]
        here = {int(file.stem) for file in self._folder.glob("*.pid")}
        elsewhere = set(self._missing(found)) - here
        with contextlib.suppress(OSError):
            for file in self._folder.iterdir():
                file.unlink()
            self._folder.rmdir()
        for rank in dead:  # which could not tidy up behind its own children
            for meeting in self._folder.parent.glob(f"{self.meeting_of(rank)}*"):
                shutil.rmtree(meeting, ignore_errors=True)
        return found | self._machines.gather(elsewhere, patience)

    def _missing(self, found: Mapping[int, Testimony]) -> list[int]:
        return [rank for rank in range(self.world) if rank != self.rank and rank not in found]

    def _lives(self, rank: int) -> bool:
        try:
            return lives(int((self._folder / f"{rank}.pid").read_text("utf-8")))
        except (OSError, ValueError):
            return False

    def _forget(self, rank: int) -> None:
        for name in (f"{rank}.json", f"{rank}.noted.json", f"{rank}.pid"):
            (self._folder / name).unlink(missing_ok=True)

    def _is_ours(self) -> None:
        """No other user may have made the folder, or be able to write there."""
        status = os.lstat(self._folder)
        others_write = stat.S_IMODE(status.st_mode) & 0o022
        if not stat.S_ISDIR(status.st_mode) or others_write or _owner(status) != _owner():
            raise PermissionError(f"{self._folder} is not this user's own")

    def _write(self, name: str, text: str) -> None:
        draft = self._folder / f".{name}"
        draft.write_text(text, encoding="utf-8")
        draft.replace(self._folder / name)


def _owner(status: os.stat_result | None = None) -> int:
    if not hasattr(os, "getuid"):
        return 0
    return os.getuid() if status is None else status.st_uid

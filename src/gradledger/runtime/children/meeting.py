"""Where the processes of one audit meet: a folder of this user's, made for it and removed after it.

Each process that trains leaves there what it has to say, and notes it on the way, as ranks do. The
process that the audit began with reads it at its own end.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep, time_ns
from typing import Any, NamedTuple

from gradledger.ledger.unseen import Unseen
from gradledger.recording.paths import rank_path
from gradledger.rules.processes import Heard
from gradledger.rules.ranks import Testimony
from gradledger.runtime.children.door._gradledger_door import PYTHON, Inheritance, this_python
from gradledger.runtime.children.nested import OWN
from gradledger.runtime.processes.exit_causes import lives
from gradledger.runtime.processes.rank_reports import decoded, encoded

PATIENCE = 10.0
"""Seconds that are waited for a child that trains on when the program has ended."""


class Options(NamedTuple):
    """What children are audited with."""

    subject: str
    sample: int | None = None
    record: str | None = None


class Meeting:
    """The folder, for the process that the audit began with."""

    def __init__(self, options: Options, name: str = "gradledger-") -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=name))  # no other user may look inside
        home = Path(__file__).absolute().parents[3]  # where gradledger is
        (self.folder / "options.json").write_text(json.dumps(options), encoding="utf-8")
        (self.folder / PYTHON).write_text(f"{this_python()}\n{home}", encoding="utf-8")

    def inheritance(self, claimed: str) -> Inheritance:
        """What children get to know of it."""
        return Inheritance(str(self.folder), claimed)

    def gather(self, patience: float = PATIENCE) -> list[Heard]:
        """What children have left; what they have noted, where they died or go on."""
        deadline = monotonic() + patience
        while True:
            # Asked before the look at what is there: who ends in between has left something.
            living = {name for name in self._names(".noted") if lives(int(name.split(".")[0]))}
            living -= self._names(".left")
            if not living or monotonic() > deadline:
                break
            sleep(0.05)
        return sorted(self._heard(living), key=lambda heard: heard.began)

    def _heard(self, living: set[str]) -> Iterator[Heard]:
        left = self._names(".left")
        for name in left:
            if heard := self._read(name, ".left"):
                yield heard
        for name in self._names(".noted") - left:
            if heard := self._read(name, ".noted"):
                end = "had not ended" if name in living else "died"
                said = heard.testimony._replace(end=end, whole=False)
                yield heard._replace(testimony=said)

    def unseen(self) -> Iterator[Unseen]:
        """Processes that may have trained, and were not audited."""
        for name in sorted(self._names(".unseen")):
            with contextlib.suppress(OSError):
                why = (self.folder / f"{name}.unseen").read_text("utf-8")
                yield Unseen("processes", why, 1, (name,))

    def own_runs(self) -> list[str]:
        """Processes that a `gradledger run` of their own has audited."""
        return sorted(self._names(OWN))

    def close(self) -> None:
        """No process is expected any more."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _names(self, ending: str) -> set[str]:
        with contextlib.suppress(OSError):
            files = {file.name for file in self.folder.iterdir()}
            return {name.removesuffix(ending) for name in files if name.endswith(ending)}
        return set()

    def _read(self, name: str, ending: str) -> Heard | None:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            told = json.loads((self.folder / f"{name}{ending}").read_text("utf-8"))
            return Heard(**told["who"], testimony=decoded(told["testimony"]))
        return None


class Seat:
    """A child's own place in the folder."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._began = time_ns()
        self.name = ""
        self.rank: tuple[int, int, str] | None = None
        """Its number, of how many, and in which launch, where it is one of several ranks."""
        self.elsewhere = False
        """Rank 0 is on another machine, and has been told."""
        self.recording = ""
        """Where this process records, if it does."""

    @property
    def options(self) -> Options:
        """What it is audited with."""
        return Options(*json.loads((self._folder / "options.json").read_text("utf-8")))

    def note(self, testimony: Testimony) -> None:
        """Leave what this process would have to say if it died now."""
        self._write(".noted", testimony)

    def leave(self, testimony: Testimony) -> None:
        """Leave what this process has to say."""
        self._write(".left", testimony)

    def leave_for(self, rank: int, testimony: Testimony) -> None:
        """Leave what another rank of this launch has to say, which is on another machine."""
        _, world, launch = self.rank or (0, 1, "")
        other = Seat(str(self._folder))
        other.rank = rank, world, launch
        other.leave(testimony)

    @property
    def record(self) -> Path | None:
        """Where this process records, if it is to: each has a file of its own."""
        record = self.options.record
        if record is None:
            return None
        if self.rank is not None:
            return rank_path(record, rank=self.rank[0], world_size=self.rank[1])
        path = Path(record)
        return path.with_name(f"{path.stem}.process{os.getpid()}{path.suffix}")

    def unseen(self, why: str) -> None:
        """Leave a word that this process was not audited."""
        with contextlib.suppress(OSError):
            (self._folder / f"{os.getpid()}.unseen").write_text(why, encoding="utf-8")

    def _write(self, ending: str, testimony: Testimony) -> None:
        name = f"{os.getpid()}.{self._began}{ending}"  # of one process there may be several
        rank, world, launch = self.rank or (None, 1, "")
        who: dict[str, Any] = {"name": self.name, "began": self._began}
        who |= {"rank": rank, "world": world, "launch": launch}
        who |= {"elsewhere": self.elsewhere, "recording": self.recording}
        with contextlib.suppress(OSError):  # the audit is over, or the disk is full
            draft = self._folder / f".{name}"
            text = json.dumps({"who": who, "testimony": encoded(testimony)})
            draft.write_text(text, encoding="utf-8")
            draft.replace(self._folder / name)


def name_of_this_process() -> str:
    """What a person would call it: `Process-1`, or `worker.py (4123)`."""
    process: Any = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        return str(process.current_process().name)
    script = os.path.basename(sys.argv[0]) if sys.argv else ""
    return f"{script} ({os.getpid()})" if script not in ("", "-c", "-m") else str(os.getpid())

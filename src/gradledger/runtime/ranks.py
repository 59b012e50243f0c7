"""Several ranks of one launch, one verdict: each leaves its testimony, and rank 0 reads them all.

No collective is used for it: a job whose ranks have lost each other must not hang because of us.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from gradledger.ledger.findings import Evidence, Finding
from gradledger.ledger.places import Place
from gradledger.ledger.tally import Tally
from gradledger.ledger.verdict import Verdict
from gradledger.rules.ranks import Testimony

PATIENCE = 60.0
"""Seconds that rank 0 waits for the others, once it is done itself."""


class Ranks:
    """The ranks of this launch on this machine."""

    def __init__(self, rank: int, world: int, launch: str) -> None:
        self.rank = rank
        self.world = world
        user = os.getuid() if hasattr(os, "getuid") else 0
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

    def arrive(self) -> None:
        """Tell the others that this rank is audited, and by which process."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._is_ours()
        # An earlier launch with the same address may have been killed before it tidied up.
        (self._folder / f"{self.rank}.json").unlink(missing_ok=True)
        self._write(f"{self.rank}.pid", str(os.getpid()))

    def leave(self, testimony: Testimony) -> None:
        """Leave what this rank has to say."""
        self._write(f"{self.rank}.json", _encoded(testimony))

    def gather(self, patience: float = PATIENCE) -> dict[int, Testimony]:
        """What the other ranks have to say; without those that died or are on other machines."""
        found: dict[int, Testimony] = {}
        deadline = monotonic() + patience
        while True:
            # Asked before the look at what is there: who ends in between has left something.
            living = {rank for rank in self._missing(found) if self._lives(rank)}
            for rank in self._missing(found):
                with contextlib.suppress(FileNotFoundError):
                    found[rank] = _decoded((self._folder / f"{rank}.json").read_text("utf-8"))
            if not living.difference(found) or monotonic() > deadline:
                break
            sleep(0.05)
        with contextlib.suppress(OSError):
            for file in self._folder.iterdir():
                file.unlink()
            self._folder.rmdir()
        return found

    def _missing(self, found: Mapping[int, Testimony]) -> list[int]:
        return [rank for rank in range(self.world) if rank != self.rank and rank not in found]

    def _lives(self, rank: int) -> bool:
        try:
            os.kill(int((self._folder / f"{rank}.pid").read_text("utf-8")), 0)
        except (OSError, ValueError):
            return False
        return True

    def _is_ours(self) -> None:
        """Nobody else may have made the folder, or be able to write there."""
        status = os.lstat(self._folder)
        others_write = stat.S_IMODE(status.st_mode) & 0o022
        if not stat.S_ISDIR(status.st_mode) or others_write or _owner(status) != _owner():
            raise PermissionError(f"{self._folder} is not this user's own")

    def _write(self, name: str, text: str) -> None:
        draft = self._folder / f".{name}"
        draft.write_text(text, encoding="utf-8")
        draft.replace(self._folder / name)


# In a file -----------------------------------------------------------------------------------


def _encoded(testimony: Testimony) -> str:
    verdict = testimony.verdict
    return json.dumps(
        {
            "subject": verdict.subject,
            "findings": [_told(finding) for finding in verdict.findings],
            "tally": list(verdict.tally),
            "sources": dict(verdict.sources),
            "trouble": verdict.trouble,
            "fingerprints": [[_spot(at), n, dict(p)] for at, n, p in testimony.fingerprints],
        }
    )


def _decoded(text: str) -> Testimony:
    told = json.loads(text)
    verdict = Verdict(
        told["subject"],
        tuple(map(_finding, told["findings"])),
        Tally(*told["tally"]),
        sources=told["sources"],
        trouble=told["trouble"],
    )
    return Testimony(verdict, [(_place(at), n, prints) for at, n, prints in told["fingerprints"]])


def _told(finding: Finding) -> dict[str, Any]:
    evidence = [[e.what, None if e.at is None else _spot(e.at), e.note] for e in finding.evidence]
    return {
        "rule": finding.rule,
        "at": _spot(finding.at),
        "detail": finding.detail,
        "evidence": evidence,
        "cells": sorted(finding.cells),
        "count": finding.count,
    }


def _finding(told: Mapping[str, Any]) -> Finding:
    evidence = tuple(
        Evidence(what, None if at is None else _place(at), note)
        for what, at, note in told["evidence"]
    )
    at, cells = _place(told["at"]), frozenset(told["cells"])
    return Finding(told["rule"], at, told["detail"], "observed", evidence, cells, told["count"])


def _spot(place: Place) -> list[Any]:
    return [place.path, place.line, place.column]


def _place(spot: list[Any]) -> Place:
    return Place(*spot)


def _owner(status: os.stat_result | None = None) -> int:
    if not hasattr(os, "getuid"):
        return 0
    return os.getuid() if status is None else status.st_uid

"""Ranks on other machines leave their reports in the store that the job has anyway.

torchrun hosts it for as long as any rank lives. Keys are read from it, there is no collective, and
each wait is bounded. No connection outlives a question.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import socket
import zlib
from collections.abc import Collection, Mapping
from datetime import timedelta
from time import monotonic, sleep
from typing import Any

from gradledger.rules.ranks import Testimony
from gradledger.runtime.processes.rank_reports import decoded, encoded

CONNECT = 5.0
"""Seconds to reach the store, and for each answer."""
UNANNOUNCED = 5.0
"""Seconds that are waited for ranks that have not said that they are audited."""


class Machines:
    """The machines of one launch."""

    def __init__(self, told: Mapping[str, str] | None = None) -> None:
        told = os.environ if told is None else told
        self._host, self._port = told.get("MASTER_ADDR", ""), _number(told, "MASTER_PORT")
        self.world = _number(told, "WORLD_SIZE")
        self.here = _number(told, "LOCAL_WORLD_SIZE")
        """How many ranks this machine has."""
        self._machine = _number(told, "GROUP_RANK")
        launch = [told.get(f"TORCHELASTIC_{name}", "") for name in ("RUN_ID", "RESTART_COUNT")]
        self._prefix = "/".join(("gradledger", *launch))
        self._hosted_by_torchrun = told.get("TORCHELASTIC_USE_AGENT_STORE") == "True"

    @property
    def several(self) -> bool:
        """Whether some ranks are on other machines."""
        return bool(self._host and self._port and 0 < self.here < self.world)

    @property
    def first(self) -> bool:
        """Whether rank 0 is on this one."""
        return self._machine == 0

    def announce(self, rank: int) -> None:
        """Tell rank 0 that this rank is audited, and worth waiting for."""
        if self.several and not self.first and self._hosted_by_torchrun:
            with contextlib.suppress(Exception):
                self._store().set(f"audited/{rank}", "yes")

    def leave(self, testimonies: Mapping[int, Testimony]) -> bool:
        """Leave what ranks have to say for rank 0, on another machine. Whether that could be."""
        if self.several and not self.first:
            with contextlib.suppress(Exception):
                store = self._store()
                for rank, testimony in testimonies.items():
                    store.set(f"said/{rank}", _packed(testimony))
                return True
        return False

    def gather(self, missing: Collection[int], patience: float) -> dict[int, Testimony]:
        """What ranks on other machines have left, waiting for those that are audited."""
        found: dict[int, Testimony] = {}
        if self.several and self.first and missing:
            with contextlib.suppress(Exception):
                self._gather(self._store(), set(missing), patience, found)
        return found

    def _gather(
        self, store: Any, missing: set[int], patience: float, found: dict[int, Testimony]
    ) -> None:
        began = monotonic()
        while True:
            for rank in missing - found.keys():
                if store.check([f"said/{rank}"]):
                    found[rank] = _unpacked(store.get(f"said/{rank}"))
            waited = monotonic() - began
            awaited = missing - found.keys()
            if waited > UNANNOUNCED:
                awaited = {rank for rank in awaited if store.check([f"audited/{rank}"])}
            if not awaited or waited > patience:
                return
            sleep(0.1)

    def _store(self) -> Any:
        """The job's store, under a prefix of ours. Raises where it can't be reached in time."""
        # Else torch complains on stderr until there is a listener.
        socket.create_connection((self._host, self._port), CONNECT).close()
        from torch._C._distributed_c10d import PrefixStore, TCPStore

        seconds = timedelta(seconds=CONNECT)
        store = TCPStore(
            self._host, self._port, is_master=False, timeout=seconds, wait_for_workers=False
        )
        return PrefixStore(self._prefix, store)


def _packed(testimony: Testimony) -> str:
    text = json.dumps([testimony.whole, encoded(testimony)])
    return base64.b64encode(zlib.compress(text.encode())).decode()


def _unpacked(packed: bytes) -> Testimony:
    whole, text = json.loads(zlib.decompress(base64.b64decode(packed)))
    return decoded(text)._replace(whole=whole)


def _number(told: Mapping[str, str], name: str) -> int:
    try:
        return int(told.get(name, "0"))
    except ValueError:
        return 0

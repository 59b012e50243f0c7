"""Events of Chrome's Trace Event format, as far as a run needs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

Event = dict[str, Any]
Details = Mapping[str, Any]


class Track(NamedTuple):
    """A row of the viewer: a thread of a process."""

    pid: int
    tid: int
    start: int
    """When its process began, in nanoseconds since the first one did."""

    def slice(self, name: str, begin: int, end: int, details: Details) -> Event:
        """A box from one moment to another."""
        return self._at(begin, "X", name, dur=(end - begin) / 1000, cat="window", args=details)

    def instant(self, name: str, ns: int, details: Details, *, cat: str = "mark") -> Event:
        """An arrow at a moment."""
        return self._at(ns, "i", name, s="t", cat=cat, args=details)

    def counter(self, name: str, ns: int, label: str, value: float) -> Event:
        """A point of a curve; the viewer calls it by name and label."""
        return self._at(ns, "C", name, args={label: value})

    def leads(self, number: int, ns: int) -> Event:
        """From what was drawn last on this track an arrow begins."""
        return self._at(ns, "s", "the same backward pass", cat="deposit", id=number)

    def follows(self, number: int, ns: int) -> Event:
        """At what was drawn last on this track the arrow ends."""
        # After its beginning, also where a reader sorts events of one moment in another way.
        return self._at(ns + 1, "f", "the same backward pass", cat="deposit", id=number, bp="e")

    def named(self, name: str) -> Event:
        """What the viewer calls the track."""
        return self._metadata("thread_name", {"name": name})

    def placed(self, index: int) -> Event:
        """Where the viewer shows it among the others."""
        return self._metadata("thread_sort_index", {"sort_index": index})

    def in_process(self, name: str) -> Event:
        """What the viewer calls the process."""
        return self._metadata("process_name", {"name": name})

    def _at(self, ns: int, phase: str, name: str, **more: Any) -> Event:
        ts = (self.start + ns) / 1000
        return {"ph": phase, "name": name, "pid": self.pid, "tid": self.tid, "ts": ts, **more}

    def _metadata(self, name: str, args: Details) -> Event:
        return {"ph": "M", "name": name, "pid": self.pid, "tid": self.tid, "args": args}

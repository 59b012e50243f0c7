"""The trace as a whole: the ranks of a run on one clock."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, TextIO

from gradledger.recording import Recording
from gradledger.report.as_json import whole
from gradledger.report.chronicle import Chronicle
from gradledger.report.moments import moments
from gradledger.report.perfetto.events import Event
from gradledger.report.perfetto.ranks import OfRank


def write(ranks: Sequence[tuple[Chronicle, Recording]], stream: TextIO) -> None:
    """Writes the trace, an event to a line."""
    about = json.dumps([_about(chronicle) for chronicle, _ in ranks])
    stream.write(f'{{"displayTimeUnit": "ms", "otherData": {{"ranks": {about}}},\n')
    stream.write('"traceEvents": [')
    comma = "\n"
    for event in _events(ranks):
        # Letters beyond ASCII are escaped, so that any stream can take them.
        stream.write(f"{comma}{json.dumps(event, separators=(',', ':'), allow_nan=False)}")
        comma = ",\n"
    stream.write("\n]}\n")
    stream.flush()


def _events(ranks: Sequence[tuple[Chronicle, Recording]]) -> Iterator[Event]:
    # A thread with its process's number would be shown as the main one.
    tids = count(2 + max((chronicle.run.rank for chronicle, _ in ranks), default=0))
    arrows = count(1)
    first = min((chronicle.run.started_at for chronicle, _ in ranks), default=None)
    for chronicle, recording in ranks:
        late = (chronicle.run.started_at - first).total_seconds() if first else 0.0
        rank = OfRank(chronicle, start=round(late * 1e9), tids=tids, arrows=arrows)
        yield from rank.events(moments(recording))


def _about(chronicle: Chronicle) -> dict[str, Any]:
    run = chronicle.run
    return {
        "rank": run.rank,
        "script": whole(run.script),
        "arguments": [whole(word) for word in run.argv],
        "versions": dict(run.versions),
        "started_at": run.started_at.isoformat(),
        "seconds": chronicle.seconds,
        "ended": chronicle.ended,
    }

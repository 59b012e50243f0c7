"""One folder for a run, and one in it for each of several ranks."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from gradledger.report.chronicle import Chronicle
from gradledger.report.tensorboard.event_files import EventFile, scalar
from gradledger.report.tensorboard.scalars import points


def write(chronicles: Sequence[Chronicle], folder: str | os.PathLike[str]) -> None:
    """Writes the event files that `tensorboard --logdir` shows. OSError: they can't be written.

    Written again, the files of the same run are replaced. Those of others, such as the script's
    own, stay, and TensorBoard shows both.
    """
    for chronicle in chronicles:
        place = Path(folder)
        if chronicle.run.world_size > 1:
            place /= f"rank{chronicle.run.rank}"
        place.mkdir(parents=True, exist_ok=True)
        _write(chronicle, place)


def _write(chronicle: Chronicle, folder: Path) -> None:
    started = chronicle.run.started_at.timestamp()
    name = folder / f"events.out.tfevents.{started:017.6f}.gradledger"
    # Beside it and then moved, under a name that TensorBoard does not read.
    descriptor, draft = tempfile.mkstemp(dir=folder, prefix=".gradledger-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            file = EventFile(stream, started)
            for point in points(chronicle):
                values = (scalar(tag, value) for tag, value in point.values)
                file.scalars(point.step, started + point.ns / 1e9, values)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(draft, 0o666 & ~mask)
        os.replace(draft, name)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise

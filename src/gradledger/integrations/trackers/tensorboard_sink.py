"""TensorBoard: event files in `runs/gradledger`, which need nothing to be written."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import BinaryIO

from gradledger.report.tensorboard.event_files import EventFile, scalar

FOLDER = os.path.join("runs", "gradledger")


class Tracker:
    """Writes numbers as they come; of findings, TensorBoard shows how many there are."""

    def __init__(self, folder: str = FOLDER) -> None:
        self._folder = os.path.abspath(folder)
        self._stream: BinaryIO | None = None
        self._file: EventFile | None = None
        self._step = self._findings = 0

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Numbers of a step."""
        self._step = max(self._step, step)
        self._write(values, step)

    def alert(self, title: str, text: str) -> None:
        """A finding."""
        self._findings += 1
        self._write({"findings": float(self._findings)}, self._step)

    def close(self) -> None:
        """Closes the file."""
        if self._stream is not None:
            self._stream.close()

    def _write(self, values: Mapping[str, float], step: int) -> None:
        now = time.time()
        if self._file is None or self._stream is None:
            os.makedirs(self._folder, exist_ok=True)
            name = f"events.out.tfevents.{now:017.6f}.{os.getpid()}.gradledger"
            self._stream = open(os.path.join(self._folder, name), "wb")  # noqa: SIM115 - `close`
            self._file = EventFile(self._stream, now)
        self._file.scalars(step, now, [scalar(tag, value) for tag, value in values.items()])
        self._stream.flush()  # TensorBoard reads while the program runs

"""The reports that `run` writes from its own recording after the script has ended."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gradledger.cli.delivery import OutputError, check_output, to_file
from gradledger.errors import GradledgerError
from gradledger.report.paths import shown

if TYPE_CHECKING:
    from gradledger.ledger.verdict import Verdict


class Reports:
    """The requested reports. Their paths are checked before the script, which may take days.

    If no recording was requested, one is kept beside the report until the report is written, so
    that a killed run leaves it behind.
    """

    def __init__(self, *, record: str | None, html: str | None, tensorboard: str | None) -> None:
        self._html = html and check_output(html, option="--html")
        self._tensorboard = tensorboard and _folder(tensorboard)
        self._kept = record is not None
        self.record: str | None = record and check_output(record, option="--record")
        if self.record is None and self._html:
            self.record = str(Path(self._html).with_suffix(".gradledger"))
        elif self.record is None and self._tensorboard:
            self.record = os.path.join(self._tensorboard, "run.gradledger")

    def make(self, recording: Path, verdict: Verdict) -> Iterator[str]:
        """Writes them, and prints where they are, or what went wrong."""
        if not (self._html or self._tensorboard):
            return
        from gradledger.cli.recordings import recordings

        try:
            paths = recordings([str(recording)])
            yield from self._written(paths, verdict)
        except (GradledgerError, OSError) as error:
            yield f"gradledger: there is no report: {error}"
            if recording.exists():
                yield f"The recording is in {shown(str(recording))}."
            return
        if not self._kept:
            for path in paths:
                with contextlib.suppress(OSError):
                    path.unlink()

    def _written(self, paths: tuple[Path, ...], verdict: Verdict) -> Iterator[str]:
        from gradledger.cli.recordings import chronicles

        told = chronicles(list(map(str, paths)))
        if self._html:
            from gradledger.cli.cures import cures
            from gradledger.report.page import page

            text = page(told, verdict=verdict, cures=cures(verdict))
            to_file(self._html, lambda stream: print(text, end="", file=stream))
            yield f"The report is in {shown(self._html)}. Open it in a browser."
        if self._tensorboard:
            from gradledger.report import tensorboard

            tensorboard.write(told, self._tensorboard)
            yield f"For TensorBoard: tensorboard --logdir {shown(self._tensorboard)}"


def _folder(path: str) -> str:
    """The folder, made if it is missing."""
    path = os.path.realpath(path)
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"--tensorboard: {path} can't be made: {error.strerror}. Name another folder."
        ) from None
    check_output(os.path.join(path, "events"), option="--tensorboard")
    return path

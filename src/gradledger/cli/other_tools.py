"""Files that `report` writes for other tools: traces, tables, and files for TensorBoard."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from gradledger.errors import OptionError

if TYPE_CHECKING:
    from gradledger.ledger.verdict import Verdict
    from gradledger.recording import Recording
    from gradledger.report.chronicle import Chronicle

FORMATS = ("perfetto", "csv")
TABLES = (
    "windows", "spends", "deposits", "events", "measures", "flows", "optimizers", "ranks",
    "findings", "evidence",
)  # fmt: skip
"""The names of the formats are here, so that `--help` doesn't import the code that writes them."""


def writer(
    names: Sequence[str],
    told: Sequence[Chronicle],
    verdict: Verdict,
    *,
    format: str,
    table: str | None,
) -> Callable[[TextIO], None]:
    """A function that writes the trace or the table of these recordings."""

    def write(stream: TextIO) -> None:
        with _opened(names, told) as ranks:
            if format == "perfetto":
                from gradledger.report import perfetto

                perfetto.write(ranks, stream)
            else:
                from gradledger.report import tables

                tables.write(table or TABLES[0], tables.Source(ranks, verdict), stream)

    return write


def check_table(table: str | None, *, format: str) -> None:
    """Checks that the requested table exists."""
    if table is None:
        return
    if format != "csv":
        raise OptionError("--table needs --format csv: other formats are no tables.")
    if table not in TABLES:
        raise OptionError(f"there is no table {table!r}. There are {', '.join(TABLES)}.")


def to_tensorboard(told: Sequence[Chronicle], folder: str) -> str:
    """Writes the folder, and prints how to view it."""
    from gradledger.cli.delivery import OutputError
    from gradledger.report import tensorboard

    try:
        tensorboard.write(told, folder)
    except OSError as error:
        raise OutputError(
            f"--tensorboard: {os.path.abspath(folder)} can't be written: {error.strerror}. Name "
            "another folder."
        ) from None
    return f"For TensorBoard: tensorboard --logdir {folder}"


@contextlib.contextmanager
def _opened(
    names: Sequence[str], told: Sequence[Chronicle]
) -> Iterator[list[tuple[Chronicle, Recording]]]:
    """The chronicles, each with its recording for the details that a chronicle doesn't keep."""
    from gradledger.cli.recordings import recordings
    from gradledger.recording import Recording

    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(Recording(path)) for path in recordings(names)]
        by_rank = {recording.run.rank: recording for recording in found}
        yield [(chronicle, by_rank[chronicle.run.rank]) for chronicle in told]

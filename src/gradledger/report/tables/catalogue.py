"""The tables that there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import NamedTuple, TextIO

from gradledger.ledger.verdict import Verdict
from gradledger.recording import Recording
from gradledger.report.chronicle import Chronicle
from gradledger.report.tables import about, happenings, numbers
from gradledger.report.tables.comma_separated import Rows, write_rows


class Source(NamedTuple):
    """What tables are made of: the ranks of a run, and the verdict on all of them."""

    ranks: Sequence[tuple[Chronicle, Recording]]
    verdict: Verdict


class Table(NamedTuple):
    """Its columns, and the rows, which are made one by one."""

    about: str
    columns: tuple[str, ...]
    rows: Callable[[Source], Rows]


def write(table: str, source: Source, stream: TextIO) -> None:
    """Writes the table of this name as CSV."""
    columns = TABLES[table].columns
    # Who stops reading half way, as `head` does, leaves the recording in the middle of a query.
    with closing(TABLES[table].rows(source)) as rows:
        write_rows(columns, rows, stream)


def _by_rank(rows: Callable[[Chronicle, Recording], Rows]) -> Callable[[Source], Rows]:
    def found(source: Source) -> Rows:
        for chronicle, recording in source.ranks:
            for row in rows(chronicle, recording):
                yield (chronicle.run.rank, *row)

    return found


def _table(about: str, columns: str, rows: Callable[[Chronicle, Recording], Rows]) -> Table:
    return Table(about, ("rank", *columns.split()), _by_rank(rows))


TABLES = {
    "windows": _table(
        "each step, or skipped step, and what it spent",
        "optimizer step seconds path line skipped deposits deposits_again items gradient_norm"
        " update_ratio",
        numbers.windowed,
    ),
    "spends": _table(
        "what each step spent, by the line that deposited it",
        "optimizer step path line again deposits parameters weights",
        numbers.spent,
    ),
    "deposits": _table(
        "each backward pass, and how it is weighed",
        "deposit seconds path line optimizers turn reduction items divisor",
        happenings.deposited,
    ),
    "events": _table(
        "everything that was recorded",
        "event seconds kind path line optimizer parameters detail",
        happenings.happened,
    ),
    "measures": _table(
        "losses, learning rates, gradient norms and update ratios, by optimizer and parameter",
        "measure optimizer parameter step value",
        numbers.measured,
    ),
    "flows": _table(
        "what became of each line's deposits; an entry is one deposit in one parameter",
        "path line optimizer fate entries",
        numbers.flowed,
    ),
    "optimizers": _table(
        "each optimizer",
        "optimizer parameters path line steps skipped_steps",
        about.optimizers,
    ),
    "ranks": _table("each process, and its tally", about.PROCESS, about.process),
    "findings": Table(
        "the laws broken, as in --format json",
        about.FINDING,
        lambda source: about.findings(source.verdict),
    ),
    "evidence": Table(
        "the other places that matter to each finding",
        about.EVIDENCE,
        lambda source: about.evidence(source.verdict),
    ),
}
"""By their names; the first is the default."""

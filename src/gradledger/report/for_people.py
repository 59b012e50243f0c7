"""Text output: the findings in one of the layouts, and a summary below them."""

from __future__ import annotations

from gradledger.report.inspection import Inspection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradledger.ledger.verdict import Verdict
    from gradledger.report.terminal import Line, Terminal


def laid_out(
    verdict: Verdict | Inspection,
    terminal: Terminal,
    *,
    concise: bool,
    quiet: bool,
    unknown: bool,
    statistics: bool,
) -> Iterator[Line]:
    """All lines, the findings first. `quiet` leaves out the summary."""
    yield from _findings(verdict, terminal, concise=concise, quiet=quiet, statistics=statistics)
    if not isinstance(verdict, Inspection):
        yield from _of_run(verdict, terminal, brief=concise or quiet)
        return
    from gradledger.report import survey

    if unknown and verdict.unknown:
        yield from survey.unknown(verdict)
        if not (concise or quiet):
            yield ()
    if not quiet:
        yield from (survey.sentence if concise else survey.lines)(verdict, terminal)


def _findings(
    verdict: Verdict | Inspection,
    terminal: Terminal,
    *,
    concise: bool,
    quiet: bool,
    statistics: bool,
) -> Iterator[Line]:
    if statistics:
        from gradledger.report import statistics as by_rule

        yield from by_rule.lines(verdict)
        if verdict.findings and not (concise or quiet):
            yield ()
    elif concise:
        from gradledger.report import concise as one_line_each

        yield from one_line_each.lines(verdict)
    elif verdict.findings:
        from gradledger.report import text

        yield from (text.brief if quiet else text.full)(verdict, terminal)


def _of_run(verdict: Verdict, terminal: Terminal, *, brief: bool) -> Iterator[Line]:
    from gradledger.report import summary

    yield from (summary.uncovered if brief else summary.lines)(verdict, terminal)

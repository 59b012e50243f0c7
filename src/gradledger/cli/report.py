"""Show a recorded run as text, as an HTML page, or as data for other tools.

`gradledger run --record run.gradledger train.py` makes a recording. It can be read while the run
goes on, and after the run was killed. PyTorch isn't needed.

  gradledger report run.gradledger                       the verdict
  gradledger report run.gradledger --format html         a page with timeline, norms, findings
  gradledger report run.gradledger --format perfetto --output trace.json
  gradledger report run.gradledger --format csv --table windows
  gradledger report run.gradledger --tensorboard runs/today
  gradledger report --diff before.gradledger after.gradledger

Each rank has its own recording. `run.gradledger` means all of `run.rank0.gradledger`,
`run.rank1.gradledger` and so on; so does the name of any one of them.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TextIO

from gradledger.cli import UsageError, other_tools, two_runs
from gradledger.errors import OptionError

if TYPE_CHECKING:
    from gradledger.ledger.verdict import Verdict
    from gradledger.report.chronicle import Chronicle

FORMATS = ("text", "concise", "json", "github", "sarif", "gitlab", "html", *other_tools.FORMATS)
"""The first six are formats of the verdict."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `gradledger report`."""
    add = parser.add_argument
    add("recordings", nargs="*", metavar="RECORDING", help="made by `gradledger run --record`")
    add("--format", choices=FORMATS, default="text", help="output format (default: text)")
    add(
        "--table",
        metavar="TABLE",
        help=f"the table for --format csv (default: {other_tools.TABLES[0]}): "
        f"{', '.join(other_tools.TABLES)}",
    )
    add("--tensorboard", metavar="DIR", help="also write norms and windows for TensorBoard")
    add(
        "--diff",
        action=two_runs.Diff,
        nargs="*",
        metavar="RECORDING",
        help="compare two recordings, as text or json",
    )
    add(
        "--output",
        metavar="FILE",
        help="write to FILE (default: stdout; on a terminal, an HTML page goes to a file)",
    )
    add(
        "--select",
        metavar="RULES",
        action="append",
        default=[],
        help="only these rules: codes, names or laws, separated by commas (GL101,GL2)",
    )
    add("--ignore", metavar="RULES", action="append", default=[], help="all rules except these")
    add(
        "--fail-on",
        choices=("error", "warning", "unseen"),
        help="exit with 1 if there is a finding of this severity or worse; unseen: also if "
        "anything was not seen",
    )
    add("-q", "--quiet", action="store_true", help="one line per finding, no summary")
    parser.epilog = (
        "exit status: 0; 1 if --fail-on applies; 2 if no report could be made.\n"
        "With --diff: 1 if the second run has a finding that the first doesn't have (an error or\n"
        "a warning, or what --fail-on says)."
    )


def run(args: argparse.Namespace) -> int:
    """Reads the recordings and writes the report."""
    from gradledger.cli.recordings import chronicles
    from gradledger.report.chronicle import together
    from gradledger.rules.selection import codes

    kept = codes(select=args.select, ignore=args.ignore)
    if not kept:
        raise OptionError("--ignore leaves no rule of those selected. There is nothing to report.")
    other_tools.check_table(args.table, format=args.format)
    if not args.recordings and args.diff is None:
        raise UsageError(
            "the following arguments are required: RECORDING. See `gradledger report --help`."
        )
    output = _output(args)
    if args.diff is not None:
        return _diff(args, kept, output)
    told = chronicles(args.recordings)
    verdict = together(told)
    verdict = verdict._replace(findings=tuple(f for f in verdict.findings if f.rule in kept))
    _deliver(_writer(args, told, verdict), output)
    if output != args.output:
        print(f"The report is in {output}. Open it in a browser.")
    if args.tensorboard:
        # Not to standard output, which may be where the report goes.
        print(other_tools.to_tensorboard(told, args.tensorboard), file=sys.stderr)
    if args.fail_on:
        from gradledger.report.balance import fails

        return int(fails(verdict, args.fail_on))
    return 0


def _diff(args: argparse.Namespace, kept: frozenset[str], output: str | None) -> int:
    if args.tensorboard:
        raise OptionError("--diff writes nothing for TensorBoard, which shows two runs by itself.")
    names = two_runs.named(args)
    write, status = two_runs.compared(names, kept=kept, format=args.format, fail_on=args.fail_on)
    _deliver(write, output)
    return status


def _writer(
    args: argparse.Namespace, told: Sequence[Chronicle], verdict: Verdict
) -> Callable[[TextIO], None]:
    if args.format == "html":
        from gradledger.cli.cures import cures
        from gradledger.report.page import page

        text = page(told, verdict=verdict, cures=cures(verdict))
        return lambda stream: print(text, end="", file=stream)
    if args.format in other_tools.FORMATS:
        return other_tools.writer(
            args.recordings, told, verdict, format=args.format, table=args.table
        )
    from gradledger.report import render

    return lambda stream: render(verdict, args.format, stream=stream, quiet=args.quiet)


def _output(args: argparse.Namespace) -> str | None:
    """The path of the report; None means standard output."""
    from gradledger.cli.delivery import check_output

    output: str | None = args.output
    if output is not None:
        check_output(output, option="--output")
    elif (
        args.format == "html"
        and args.diff is None
        and sys.stdout is not None
        and sys.stdout.isatty()
    ):
        output = _own_page(args.recordings[0])
    return output


def _deliver(write: Callable[[TextIO], None], output: str | None) -> None:
    from gradledger.cli.delivery import OutputError, to_file

    if output is None:
        if sys.stdout is not None:  # it is None if it was closed before we started
            write(sys.stdout)
        return
    try:
        to_file(os.path.realpath(output), write)
    except OSError as error:
        raise OutputError(
            f"{output} can't be written: {error.strerror}. Name another file with --output."
        ) from None


def _own_page(recording: str) -> str:
    """`run.html` for `run.gradledger`, in the working directory."""
    from gradledger.cli.delivery import OutputError, is_ours

    output = f"{os.path.splitext(os.path.basename(recording))[0]}.html"
    if os.path.exists(output) and not is_ours(output):
        raise OutputError(
            f"{output} is there already, and gradledger did not write it. Name a file with "
            "--output."
        )
    return output

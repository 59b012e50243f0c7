"""Find gradient bugs in source files and notebooks, without running them.

Follows gradients on every path through the code, from each backward() to the step() that uses them
and the zero_grad() that clears them. Code it can't follow is reported as unknown, never as clean.
PyTorch isn't needed.

  gradledger check                      everything below the working directory
  gradledger check src train.py nb.ipynb
  gradledger check --format github src  annotations for a GitHub Actions workflow
  gradledger check --diff src           show what --fix would change
  gradledger check - < train.py         read standard input

`# gradledger: ignore[GL203] reason` on a finding's line, or on a loop around it, silences it.
[tool.gradledger] in pyproject.toml sets defaults for these options.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import TextIO

    from gradledger.cli.checking import Outcome
    from gradledger.cli.settings import Arguments, Settings

FORMATS = ("text", "concise", "json", "github", "sarif", "gitlab", "rdjson")
FINDINGS, FAILED = 1, 2

DEFAULTS: dict[str, object] = {
    "paths": [],
    "select": [],
    "ignore": [],
    "possible": None,
    "report_unused_ignores": False,
    "format": "text",
    "output": None,
    "summary": None,
    "statistics": False,
    "unknown": False,
    "quiet": False,
    "fail_on": None,
    "exit_zero": False,
    "baseline": None,
    "write_baseline": False,
    "config": None,
    "stdin_filename": None,
    "jobs": None,
    "no_cache": False,
    "fix": False,
    "diff": False,
}
"""The defaults of the options, so that no parser is needed if none is given."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `gradledger check`."""
    parser.allow_abbrev = False
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="files, folders and notebooks; - for standard input (default: the working directory)",
    )
    _add_rules(parser)
    _add_output(parser)
    _add_fixes(parser)
    _add_status(parser)
    _add_baseline(parser)
    _add_files(parser)
    parser.set_defaults(**DEFAULTS)
    parser.epilog = (
        "exit status: 0 no findings, or only infos; 1 findings (see --fail-on); 2 the check\n"
        "failed, or a file named on the command line couldn't be checked."
    )


def _add_rules(parser: argparse.ArgumentParser) -> None:
    from argparse import BooleanOptionalAction

    add = parser.add_argument_group("rules").add_argument
    add(
        "--select",
        metavar="RULES",
        action="append",
        help="only these rules: codes, names or laws, separated by commas (GL101,GL2)",
    )
    add("--ignore", metavar="RULES", action="append", help="all rules except these")
    add(
        "--possible",
        action=BooleanOptionalAction,
        help="also show findings that are only possible: on some paths, or if code that wasn't "
        "followed does what it may do",
    )
    add(
        "--report-unused-ignores",
        action="store_true",
        help="report `# gradledger: ignore` comments that ignore nothing",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("output").add_argument
    add("--format", choices=FORMATS, help="output format (default: text)")
    add("--output", metavar="FILE", help="write to FILE instead of standard output")
    add("--summary", metavar="FILE", help="also write a short verdict to FILE, in Markdown")
    add("--statistics", action="store_true", help="count findings by rule instead of listing them")
    add("--unknown", action="store_true", help="list code that couldn't be followed, and why")
    add("-q", "--quiet", action="store_true", help="one line per finding, no summary")


def _add_fixes(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("fixes, where one edit is certain to be right").add_argument
    add("--fix", action="store_true", help="edit the files, and show what is left")
    add("--diff", action="store_true", help="show what --fix would change, without editing")


def _add_status(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("exit status").add_argument
    add(
        "--fail-on",
        choices=("error", "warning", "info"),
        help="the lowest severity that exits with 1 (default: warning)",
    )
    add("--exit-zero", action="store_true", help="exit with 0 even if there are findings")


def _add_baseline(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("baseline, for an existing code base").add_argument
    add("--baseline", metavar="FILE", help="don't report findings listed in FILE")
    add("--write-baseline", action="store_true", help="write the current findings to that file")


def _add_files(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("configuration and performance").add_argument
    add(
        "--config",
        metavar="FILE",
        help="a pyproject.toml to use instead of the nearest one with [tool.gradledger]",
    )
    add("--stdin-filename", metavar="NAME", help="the file name to report for standard input")
    add("--jobs", metavar="N", type=int, help="number of processes (default: one per processor)")
    add("--no-cache", action="store_true", help="don't read or write the cache")


def run(args: Arguments) -> int:
    """Checks, writes the findings, and returns the status."""
    from gradledger.cli.checking import check
    from gradledger.cli.settings import settings_of

    settings = settings_of(args)
    outcome = check(settings)
    if settings.fix:
        from gradledger.cli.fixing import fixed

        outcome = fixed(settings, outcome)
    for remark in outcome.remarks:
        _tell(remark)
    if settings.diff:
        return _show_fixes(settings, outcome)
    if settings.write_baseline:
        _write_baseline(settings, outcome)
        return FAILED if outcome.incomplete else 0
    _deliver(settings, outcome)
    if settings.summary:
        _summarize(settings.summary, outcome)
    return _status(settings, outcome)


def _show_fixes(settings: Settings, outcome: Outcome) -> int:
    from gradledger.cli.fixing import differs

    if differs(settings, outcome) and not settings.exit_zero:
        return FINDINGS
    return FAILED if outcome.incomplete else 0


def _deliver(settings: Settings, outcome: Outcome) -> None:
    from gradledger.report import render

    cures = None
    if settings.format in ("sarif", "rdjson"):
        from gradledger.cli.fixing import replaced

        cures = replaced(settings, outcome)

    def write(stream: TextIO | None = None) -> None:
        render(
            outcome.inspection,
            settings.format,
            stream=stream,
            quiet=settings.quiet,
            unknown=settings.unknown,
            statistics=settings.statistics,
            cures=cures,
        )

    if not settings.output:
        # Standard output is used for the fixed text of standard input.
        write(sys.stderr if settings.fix and settings.stdin is not None else None)
        return
    from gradledger.cli.delivery import OutputError, to_file

    try:
        to_file(settings.output, write)
    except OSError as error:
        raise OutputError(f"{settings.output} can't be written: {error.strerror}.") from None


def _summarize(path: str, outcome: Outcome) -> None:
    from gradledger.cli.delivery import OutputError
    from gradledger.cli.summary import Summary

    if why := Summary(path).write(outcome.inspection):
        raise OutputError(why)


def _status(settings: Settings, outcome: Outcome) -> int:
    if outcome.inspection.findings and not settings.exit_zero:
        from gradledger.report.balance import fails

        if fails(outcome.inspection, settings.fail_on):
            return FINDINGS
    return FAILED if outcome.incomplete else 0


def _write_baseline(settings: Settings, outcome: Outcome) -> None:
    from gradledger.cli.delivery import OutputError, check_output, to_file
    from gradledger.policy.baseline import written
    from gradledger.report.counts import counted

    assert settings.baseline is not None
    path = check_output(settings.baseline, option="--baseline")
    text = written(outcome.entries)
    try:
        to_file(path, lambda stream: print(text, end="", file=stream))
    except OSError as error:
        raise OutputError(f"{path} can't be written: {error.strerror}.") from None
    if not settings.quiet:
        print(f"{counted(len(outcome.entries), 'finding')} written to {settings.baseline}.")


def _tell(text: str) -> None:
    from gradledger.report.visible import put, visible

    if sys.stderr is not None:
        put(visible(text), sys.stderr)

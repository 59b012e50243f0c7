"""Check source code and notebooks: find the laws broken, run nothing.

It follows the gradients on every path through the code: each backward that deposits, each step that
spends, each clear. What it cannot follow is unknown, and never called clean. It needs no torch.

  gradledger check                      all below the working directory
  gradledger check src train.py nb.ipynb
  gradledger check --format github src  for a workflow of GitHub's
  gradledger check --diff src           what --fix would change
  gradledger check - < train.py         what comes from standard input

`# gradledger: ignore[GL203] reason` on a finding's line, or on its loop's, silences it. Options are
kept in [tool.gradledger] of pyproject.toml; those of the command line come before them.
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
"""What the options are where none is given. They stand here, so that no parser is needed then."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `gradledger check`."""
    parser.allow_abbrev = False
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="files, folders and notebooks; - for standard input; by default the working directory",
    )
    _add_rules(parser)
    _add_output(parser)
    _add_fixes(parser)
    _add_status(parser)
    _add_baseline(parser)
    _add_files(parser)
    parser.set_defaults(**DEFAULTS)
    parser.epilog = (
        "exit status: 0 nothing that fails; 1 findings; 2 it could not be done, or a file that was "
        "named\ncould not be checked. An info is shown and does not fail, unless by --fail-on info."
    )


def _add_rules(parser: argparse.ArgumentParser) -> None:
    from argparse import BooleanOptionalAction

    add = parser.add_argument_group("what is looked for").add_argument
    add(
        "--select",
        metavar="RULES",
        action="append",
        help="only these rules: codes, names or laws, with commas (GL101,GL2,clip-inside-window)",
    )
    add("--ignore", metavar="RULES", action="append", help="all but these rules")
    add(
        "--possible",
        action=BooleanOptionalAction,
        help="also findings that break a law on some paths only",
    )
    add(
        "--report-unused-ignores",
        action="store_true",
        help="tell of `# gradledger: ignore` comments that ignore nothing",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("what is shown").add_argument
    add("--format", choices=FORMATS, help="text by default")
    add("--output", metavar="FILE", help="write it there instead of to standard output")
    add("--summary", metavar="FILE", help="also write a short verdict there, in Markdown")
    add("--statistics", action="store_true", help="the number of findings by rule, and not each")
    add("--unknown", action="store_true", help="list the code that could not be followed, and why")
    add("-q", "--quiet", action="store_true", help="one line for each finding, and no summary")


def _add_fixes(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("fixes, where one edit is certain to be the cure").add_argument
    add("--fix", action="store_true", help="change the files, and show what is left")
    add("--diff", action="store_true", help="show what --fix would change, and change nothing")


def _add_status(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("exit status").add_argument
    add(
        "--fail-on",
        choices=("error", "warning", "info"),
        help="how bad a finding has to be for status 1; warning by default",
    )
    add("--exit-zero", action="store_true", help="findings are no reason for status 1")


def _add_baseline(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("a baseline, for an old code base").add_argument
    add("--baseline", metavar="FILE", help="be silent about findings that are in this file")
    add("--write-baseline", action="store_true", help="write all findings of now to that file")


def _add_files(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("files and work").add_argument
    add("--config", metavar="FILE", help="instead of the nearest pyproject.toml with our table")
    add("--stdin-filename", metavar="NAME", help="what standard input is called")
    add("--jobs", metavar="N", type=int, help="processes at most; by default one per processor")
    add("--no-cache", action="store_true", help="neither read nor write the cache")


def run(args: Arguments) -> int:
    """Checks, delivers what was found, and says how it went."""
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
        # Standard output has the text that came from standard input, after its fixes.
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

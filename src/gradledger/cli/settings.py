"""The settings of `gradledger check`: its command line, over the defaults from pyproject.toml."""

from __future__ import annotations

import os

from gradledger.errors import OptionError
from gradledger.policy import Policy, configuration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from types import SimpleNamespace

    Arguments = Namespace | SimpleNamespace
    """Of a parser; or the defaults, where there was nothing to parse."""


class Settings(Policy):
    """The settings, validated."""

    paths: tuple[str, ...]
    stdin: str | None
    """The name of standard input in reports, if it is to be checked."""
    report_unused: bool
    format: str
    output: str | None
    summary: str | None
    statistics: bool
    unknown: bool
    quiet: bool
    fail_on: configuration.Level
    exit_zero: bool
    write_baseline: bool
    jobs: int | None
    cache: bool
    fix: bool
    diff: bool


def settings_of(args: Arguments) -> Settings:
    """Raises OptionError or ConfigurationError for invalid settings."""
    paths, stdin = _paths(args)
    first = stdin if stdin is not None else paths[0]
    configured = configuration.read(args.config) if args.config else configuration.nearest(first)
    return Settings(
        paths=paths,
        stdin=stdin,
        kept=_kept(args, configured),
        configured=configured,
        possible=bool(configured.possible) if args.possible is None else args.possible,
        report_unused=args.report_unused_ignores,
        format=args.format,
        output=_output(args.output),
        summary=args.summary,
        statistics=_statistics(args),
        unknown=args.unknown,
        quiet=args.quiet,
        fail_on=args.fail_on or configured.fail_on or "warning",
        exit_zero=args.exit_zero,
        baseline=_baseline(args, configured),
        write_baseline=args.write_baseline,
        jobs=_jobs(args.jobs),
        cache=not args.no_cache and stdin is None,
        fix=_fix(args),
        diff=args.diff,
    )


def _paths(args: Arguments) -> tuple[tuple[str, ...], str | None]:
    paths = tuple(args.paths) or (".",)
    if "-" not in paths:
        if args.stdin_filename is not None:
            raise OptionError("--stdin-filename names what comes from standard input. Add -.")
        return paths, None
    if len(paths) > 1:
        raise OptionError("- is standard input, and is checked alone. Leave out the other paths.")
    return (), args.stdin_filename or "<stdin>"


def _kept(args: Arguments, configured: configuration.Configuration) -> frozenset[str]:
    from gradledger.rules.selection import codes

    kept = codes(
        select=args.select or configured.select,
        ignore=args.ignore or configured.ignore,
    )
    if not kept:
        raise OptionError("no rule is left of those selected. There is nothing to look for.")
    return kept


def _output(path: str | None) -> str | None:
    if path is None:
        return None
    from gradledger.cli.delivery import check_output

    return check_output(path, option="--output")


def _statistics(args: Arguments) -> bool:
    if args.statistics and args.format not in ("text", "concise"):
        raise OptionError(f"--statistics is for people, and --format {args.format} for programs.")
    return bool(args.statistics)


def _baseline(args: Arguments, configured: configuration.Configuration) -> str | None:
    path = args.baseline or configured.baseline
    if args.write_baseline and path is None:
        raise OptionError("--write-baseline needs to know where. Add --baseline FILE.")
    if path is not None and os.path.isdir(path):
        raise OptionError(f"the baseline {path} is a folder. Name a file in it.")
    return path


def _fix(args: Arguments) -> bool:
    if args.fix and args.diff:
        raise OptionError("--diff shows what --fix would change. Leave one of them out.")
    if (args.fix or args.diff) and args.write_baseline:
        raise OptionError("--write-baseline keeps what is found. Fix first, and write it then.")
    if args.diff and (args.format != "text" or args.statistics):
        raise OptionError("--diff shows a patch and no findings. Leave out how to show them.")
    return bool(args.fix)


def _jobs(jobs: int | None) -> int | None:
    if jobs is not None and jobs < 1:
        raise OptionError(f"--jobs must be at least 1, got {jobs}.")
    return jobs

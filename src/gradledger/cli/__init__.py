"""The command line: one command, one file, and a command's help is its file's docstring."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

from gradledger.errors import GradledgerError

TYPE_CHECKING = False  # `typing` is not imported: loading it takes longer than checking a file
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType
    from typing import NoReturn

COMMANDS = ("check", "run", "adopt", "report", "server", "rules", "rule", "why", "demo")
"""Each is a file here, with a docstring, `add_arguments(parser)` and `run(args) -> int`.

If `run` returns a function instead, that is called for the status, and Python handles what it
raises: errors of a user's script are not ours to catch.
"""

FAILED, INTERRUPTED, PIPE_CLOSED = 2, 130, 141


class UsageError(GradledgerError):
    """The command line can't be understood."""


def start() -> NoReturn:
    """The entry point of the process: runs the command, and exits with its status."""
    checks = sys.argv[1:2] == ["check"]
    if checks:
        import gc

        # A check keeps nearly all objects to the end, so collecting garbage is wasted time.
        gc.set_threshold(100_000)
    outcome = _outcome(sys.argv[1:])
    if not isinstance(outcome, int):
        sys.exit(outcome())
    # Python would end with the signal, and not with our status, if it came while a class was made
    # by `exec`, as dataclasses are.
    interrupted = outcome == INTERRUPTED
    # A tracer or a profiler needs a normal exit.
    if interrupted or (checks and not sys.gettrace() and not sys.getprofile()):
        _leave(outcome)
    sys.exit(outcome)


def _leave(status: int) -> None:
    """Exits the process immediately, unless its output can't be written.

    A command has closed its files and ended its processes. To take all objects of a check apart,
    one by one, would take a fifth of the time that a small file does.
    """
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except OSError:
        return  # Python reports that when it exits
    os._exit(status)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit status. An error that a person can fix is one line."""
    outcome = _outcome(list(sys.argv[1:] if argv is None else argv))
    return outcome if isinstance(outcome, int) else outcome()


def _outcome(argv: list[str]) -> int | Callable[[], int]:
    """The exit status, or a function that returns it."""
    try:
        outcome = _run(argv)
        # Here, and not when the interpreter ends: a closed pipe would be reported there.
        if sys.stdout is not None:  # it is None if it was closed before we started
            sys.stdout.flush()
    except GradledgerError as error:
        print(f"gradledger: {error}", file=sys.stderr)
        return FAILED
    except BrokenPipeError:
        # Python must not write the rest of the buffer to the closed pipe when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    return outcome


def command(name: str) -> ModuleType:
    """The file of a command."""
    from importlib import import_module

    return import_module(f"gradledger.cli.{name}")


def _run(argv: list[str]) -> int | Callable[[], int]:
    if argv[:1] == ["check"] and not any(word.startswith("-") for word in argv):
        # Nothing but paths. To load argparse for them would take longer than to check a file.
        from gradledger.cli import check

        return check.run(SimpleNamespace(**check.DEFAULTS | {"paths": argv[1:]}))
    from gradledger.cli.parsing import parser_for

    parser = parser_for(argv)
    rest: list[str] = []
    if argv[:1] == ["run"]:
        ours, rest = command("run").split(argv[1:])
        if not {"-h", "--help"} & {*ours}:
            from gradledger.cli.run_options import configured

            ours = [*configured(ours), *ours]
        argv = ["run", *ours]
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        hint = " Options of the script itself come after it." if rest else ""
        asked = f"gradledger {argv[0]}" if argv[0] in COMMANDS else "gradledger"
        near = _nearly(unknown[0], argv[0])
        raise UsageError(f"{asked} has no {unknown[0]}.{near} See `{asked} --help`.{hint}")
    if args.run is None:
        parser.print_help(sys.stderr)
        return FAILED
    args.rest = rest
    status: int | Callable[[], int] = args.run(args)
    return status


def _nearly(unknown: str, name: str) -> str:
    """The option of a command with the most similar spelling; empty if there is none."""
    from argparse import ArgumentParser
    from difflib import get_close_matches

    if name not in COMMANDS:
        return ""
    parser = ArgumentParser(add_help=False)
    command(name).add_arguments(parser)
    options = [option for action in parser._actions for option in action.option_strings]
    near = get_close_matches(unknown.partition("=")[0], options, n=1, cutoff=0.7)
    return f" Did you mean {near[0]}?" if near else ""

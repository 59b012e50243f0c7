"""The command line: one command, one file, and a command's help is its file's docstring."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

from gradledger.errors import GradledgerError

TYPE_CHECKING = False  # what typing would say, which takes longer to load than a file to check
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType
    from typing import NoReturn

COMMANDS = ("check", "run", "adopt", "report", "server", "rules", "rule", "why", "demo")
"""Each is a file here, with a docstring, `add_arguments(parser)` and `run(args) -> int`.

Where that returns a function instead, it is called for the status, and what it raises is left to
Python: the errors of a user's script are none of ours.
"""

FAILED, INTERRUPTED, PIPE_CLOSED = 2, 130, 141


class UsageError(GradledgerError):
    """The command line makes no sense."""


def start() -> NoReturn:
    """The command as a process of its own: begins it, and ends it with the exit status."""
    checks = sys.argv[1:2] == ["check"]
    if checks:
        import gc

        # What a check makes it keeps to the end, and little of it is garbage.
        gc.set_threshold(100_000)
    outcome = _outcome(sys.argv[1:])
    if not isinstance(outcome, int):
        sys.exit(outcome())
    # Python would end with the signal, and not with our status, if it came while a class was made
    # by `exec`, as dataclasses are.
    interrupted = outcome == INTERRUPTED
    # Whoever traces or profiles us wants to see the end.
    if interrupted or (checks and not sys.gettrace() and not sys.getprofile()):
        _leave(outcome)
    sys.exit(outcome)


def _leave(status: int) -> None:
    """Ends the process here and now, unless its output can't be written.

    A command has closed its files and ended its processes. To take all objects of a check apart,
    one by one, would take a fifth of the time that a small file does.
    """
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except OSError:
        return  # Python says so when it ends
    os._exit(status)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit status. What a person can act upon is one line."""
    outcome = _outcome(list(sys.argv[1:] if argv is None else argv))
    return outcome if isinstance(outcome, int) else outcome()


def _outcome(argv: list[str]) -> int | Callable[[], int]:
    """The exit status, or who will know it."""
    try:
        outcome = _run(argv)
        # Here, and not when the interpreter ends: a closed pipe would be reported there.
        if sys.stdout is not None:  # as it is when it was closed before we began
            sys.stdout.flush()
    except GradledgerError as error:
        print(f"gradledger: {error}", file=sys.stderr)
        return FAILED
    except BrokenPipeError:
        # What is still in the buffer must not meet the closed pipe when Python ends.
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
    """The option of a command that is spelt nearly like this one; empty where there is none."""
    from argparse import ArgumentParser
    from difflib import get_close_matches

    if name not in COMMANDS:
        return ""
    parser = ArgumentParser(add_help=False)
    command(name).add_arguments(parser)
    options = [option for action in parser._actions for option in action.option_strings]
    near = get_close_matches(unknown.partition("=")[0], options, n=1, cutoff=0.7)
    return f" Did you mean {near[0]}?" if near else ""

"""The command line: one command, one file, and a command's help is its file's docstring."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import NoReturn

from gradledger.errors import GradledgerError

COMMANDS = ("check", "rules", "rule", "demo", "run")
"""Each is a file here, with a docstring, `add_arguments(parser)` and `run(args) -> int`.

Where that returns a function instead, it is called for the status, and what it raises is left to
Python: the errors of a user's script are none of ours.
"""

FAILED, INTERRUPTED, PIPE_CLOSED = 2, 130, 141


class UsageError(GradledgerError):
    """The command line makes no sense."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit status. What a person can act upon is one line."""
    try:
        status = _run(list(sys.argv[1:] if argv is None else argv))
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
    return status if isinstance(status, int) else status()


def command(name: str) -> ModuleType:
    """The file of a command."""
    return import_module(f"gradledger.cli.{name}")


def _run(argv: list[str]) -> int | Callable[[], int]:
    parser = _parser(argv)
    rest: list[str] = []
    if argv[:1] == ["run"]:
        ours, rest = command("run").split(argv[1:])
        argv = ["run", *ours]
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        hint = " Options of the script itself come after it." if rest else ""
        asked = f"gradledger {argv[0]}" if argv[0] in COMMANDS else "gradledger"
        raise UsageError(f"{asked} has no {unknown[0]}. See `{asked} --help`.{hint}")
    if args.run is None:
        parser.print_help(sys.stderr)
        return FAILED
    args.rest = rest
    status: int | Callable[[], int] = args.run(args)
    return status


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="gradledger",
        description="Double-entry bookkeeping for PyTorch gradients.",
        epilog="`gradledger demo` is the place to start.",
        formatter_class=_Help,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", prog="gradledger")
    # Those of the other commands would be made for nothing.
    for name in argv[:1] if argv[:1] and argv[0] in COMMANDS else COMMANDS:
        module = command(name)
        about = (module.__doc__ or "").strip()
        options = commands.add_parser(
            name,
            help=_first_line(about),
            description=about,
            formatter_class=_Help,
        )
        module.add_arguments(options)
        options.set_defaults(run=module.run)
    return parser


def _first_line(text: str) -> str:
    line = text.splitlines()[0].rstrip(".")
    return line[0].lower() + line[1:]


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, as every other error of gradledger."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}. See `{self.prog} --help`.")


class _Help(argparse.RawDescriptionHelpFormatter):
    """Knows the width itself: argparse loads shutil for it, for each option and before any help."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _columns() -> int:
    asked = os.environ.get("COLUMNS", "")
    if asked.isdigit() and int(asked):
        return int(asked)
    try:
        return os.get_terminal_size(1).columns or 80
    except OSError:  # standard output is no terminal, or closed
        return 80


class _Version(argparse.Action):
    """Looks the version up only when it is asked for: that costs more than most commands."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from gradledger import __version__

        print(f"gradledger {__version__}")
        parser.exit()

"""The command line: one command, one file, and a command's help is its file's docstring."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NoReturn

from gradledger.cli import demo, rule, rules, run
from gradledger.errors import GradledgerError

COMMANDS: dict[str, ModuleType] = {"rules": rules, "rule": rule, "demo": demo, "run": run}
"""Each has a docstring, `add_arguments(parser)` and `run(args) -> int`, and is cheap to import."""

_HIDDEN = {"run"}
"""Commands that only say why they can't be had."""

FAILED, INTERRUPTED, PIPE_CLOSED = 2, 130, 141


class UsageError(GradledgerError):
    """The command line makes no sense."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit status. What a person can act upon is one line."""
    try:
        status = _run(argv)
        # Here, and not when the interpreter ends: a closed pipe would be reported there.
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
    return status


def _run(argv: Sequence[str] | None) -> int:
    parser = _parser()
    args = parser.parse_args(argv)
    if args.run is None:
        parser.print_help(sys.stderr)
        return FAILED
    status: int = args.run(args)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="gradledger",
        description="Double-entry bookkeeping for PyTorch gradients.",
        epilog="`gradledger demo` is the place to start.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, module in COMMANDS.items():
        about = (module.__doc__ or "").strip()
        options: dict[str, Any] = {} if name in _HIDDEN else {"help": _first_line(about)}
        command = commands.add_parser(
            name,
            description=about,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **options,
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def _first_line(text: str) -> str:
    line = text.splitlines()[0].rstrip(".")
    return line[0].lower() + line[1:]


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, as every other error of gradledger."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}. See `{self.prog} --help`.")


class _Version(argparse.Action):
    """Looks the version up only when it is asked for: that costs more than most commands."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from gradledger import __version__

        print(f"gradledger {__version__}")
        parser.exit()

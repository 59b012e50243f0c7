"""The parser of the command line. Loaded only if there is something to parse."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from gradledger.cli import COMMANDS, UsageError, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def parser_for(argv: Sequence[str]) -> argparse.ArgumentParser:
    """The parser for this command line: only its own command gets options, for speed.

    Without a command, all commands get them.
    """
    parser = _Parser(
        prog="gradledger",
        description="Double-entry bookkeeping for PyTorch gradients.",
        epilog="`gradledger demo` is the place to start.",
        formatter_class=_Help,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", prog="gradledger")
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
    """Reports a mistake in one line, like every other error of gradledger."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}. See `{self.prog} --help`.")


class _Help(argparse.RawDescriptionHelpFormatter):
    """Computes the width itself: argparse would load shutil for it, even if no help is shown."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _columns() -> int:
    asked = os.environ.get("COLUMNS", "")
    if asked.isdigit() and int(asked):
        return int(asked)
    try:
        return os.get_terminal_size(1).columns or 80
    except OSError:  # standard output isn't a terminal, or is closed
        return 80


class _Version(argparse.Action):
    """Looks up the version only when needed: it takes longer than most commands."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from gradledger import __version__

        print(f"gradledger {__version__}")
        parser.exit()

"""Rewrite a training loop to Stepper, and show the change as a diff.

Only a loop that the checker has followed from backward() to step() and zero_grad() is rewritten;
for any other, one sentence says why not, and with which line. The result is checked again. Nothing
is run, unless --compare asks for it.

  gradledger adopt train.py             show the diff
  gradledger adopt --write train.py     change the file
  gradledger adopt - < train.py         read standard input
  gradledger adopt --compare train.py -- --epochs 1
                                        run both programs, and compare their parameters

--compare runs the program twice, as it is and rewritten, each in a new process in the working
directory, with the same seeds: it does all that the program does, such as writing files.
"""

from __future__ import annotations

import sys

from gradledger.errors import OptionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from gradledger.static.adopt.adopt import Adopted

DIFFERS, FAILED = 1, 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `gradledger adopt`."""
    parser.allow_abbrev = False
    parser.usage = "gradledger adopt [options] FILE [-- ARGUMENT ...]"
    add = parser.add_argument
    add("path", metavar="FILE", help="a Python file; - for standard input")
    add("arguments", metavar="ARGUMENT", nargs="*", help="arguments of the program, for --compare")
    add("--write", action="store_true", help="change the file instead of showing the diff")
    add(
        "--compare",
        action="store_true",
        help="run the program and the rewritten one, and compare the parameters at the end",
    )
    add(
        "--seconds",
        metavar="N",
        type=float,
        default=60.0,
        help="time for each run of --compare (default: 60)",
    )
    add("-q", "--quiet", action="store_true", help="only the diff, and why there is none")
    parser.epilog = (
        "exit status: 0 the file was changed; 1 it would change; 2 the loop can't be rewritten,\n"
        "or the runs of --compare failed or end with other parameters."
    )


def run(args: argparse.Namespace) -> int:
    """Shows or writes the change, and says what is different now."""
    from gradledger.cli.fixing import patch, put_bytes, show, written
    from gradledger.static.fix import Fixed

    _check(args)
    made = _adopted(args.path)
    if made is None:
        return FAILED
    change = Fixed("<stdin>" if args.path == "-" else made.path, made.before, made.after, ())
    if not args.write:
        show(patch(change))
    if not args.quiet:
        _tell(made)
    if args.compare and not _is_same(args, made):
        return FAILED
    if not args.write:
        return DIFFERS
    if args.path == "-":
        put_bytes(made.after)
    elif why := written(change):
        _say(f"{made.path}: not rewritten: {why}")
        return FAILED
    return 0


def _check(args: argparse.Namespace) -> None:
    if args.arguments and not args.compare:
        raise OptionError("adopt takes one file. Arguments of the program are for --compare.")
    if args.path == "-" and args.compare:
        raise OptionError("--compare runs a file, and not standard input.")
    if not args.seconds > 0:
        raise OptionError(f"--seconds must be more than 0, got {args.seconds:g}.")


def _adopted(path: str) -> Adopted | None:
    """What becomes of the file; None where it stays, after saying why."""
    from gradledger.policy.roots import roots
    from gradledger.report.paths import shown
    from gradledger.static.adopt.adopt import adopted
    from gradledger.static.adopt.refusal import NotAdopted
    from gradledger.static.source.files import Trouble, read_bytes

    name = path
    data: bytes | Trouble
    if path == "-":
        name = "<stdin>"
        data = sys.stdin.buffer.read() if sys.stdin is not None else b""
    else:
        data = read_bytes(path)
    if isinstance(data, Trouble):
        _say(f"{shown(path)}: not rewritten: {data.message}.")
        return None
    try:
        return adopted(name, data, roots=roots([name]))
    except NotAdopted as why:
        _say(f"{shown(name)}: not rewritten: {why}.")
        return None


def _tell(made: Adopted) -> None:
    from gradledger.report.paths import shown

    path = shown(made.path)
    _say(f"{path}: the loop on line {made.line} is rewritten, and checked again.")
    for remark in made.remarks:
        _say(f"  - {remark}")


def _is_same(args: argparse.Namespace, made: Adopted) -> bool:
    """Runs both programs, and says how far apart they end."""
    from gradledger.cli.final_parameters import compared
    from gradledger.torch_extra import require_torch

    require_torch("gradledger adopt --compare")
    verdict = compared(made.path, made.before, made.after, args.arguments, seconds=args.seconds)
    short = (
        ""
        if verdict.same or not made.may_end_short
        else (" They are expected to differ if a pass doesn't fill its last window.")
    )
    _say(f"{verdict.text}{short}")
    return verdict.same


def _say(text: str) -> None:
    from gradledger.report.visible import put, visible

    if sys.stderr is not None:
        put(visible(text), sys.stderr)

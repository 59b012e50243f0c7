"""`python -m benchmarks.public_code`: two checkouts compared, or one scored, on public code.

  run CHECKOUT FOLDER --save FILE    what a checkout says of all repositories, kept as JSON
  compare OLD NEW FOLDER             each finding gained, lost or changed
  score FOLDER LABELS.tsv …          findings against labelled places
  followed FOLDER LIST.tsv           whether the training loops of a list are followed

A checkout is a folder with src/gradledger in it; compare and score also take a file that `run`
saved. FOLDER has one folder for each repository: owner__name, or owner__name@commit for a second
snapshot; a file COMMIT in it says which commit it is.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers import ROOT
from benchmarks.public_code import checkouts, comparing, following, scoring, verdicts
from benchmarks.public_code.checkouts import Checked

ERRORS = (checkouts.NotACheckout, verdicts.NotLabels, OSError, LookupError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; 2 where it cannot be done."""
    options = _parser().parse_args(arguments)
    try:
        COMMANDS[options.command](options)
    except ERRORS as problem:
        print(f"benchmarks.public_code: {problem}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.public_code",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="JSON instead of text")
    shared.add_argument("--possible", action="store_true", help="with findings that are possible")
    shared.add_argument(
        "--seconds", type=int, default=checkouts.SECONDS, help="of CPU time for a repository"
    )
    shared.add_argument("--jobs", type=int, help="repositories at a time")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", parents=[shared])
    run.add_argument("checkout", type=Path)
    run.add_argument("folder", type=Path)
    run.add_argument("--save", type=Path, metavar="FILE", required=True)
    compare = commands.add_parser("compare", parents=[shared])
    compare.add_argument("old", type=Path)
    compare.add_argument("new", type=Path)
    compare.add_argument("folder", type=Path)
    score = commands.add_parser("score", parents=[shared])
    score.add_argument("folder", type=Path)
    score.add_argument("labels", type=Path, nargs="+")
    followed = commands.add_parser("followed", parents=[shared])
    followed.add_argument("folder", type=Path)
    followed.add_argument("functions", type=Path, metavar="LIST")
    followed.add_argument("--page", type=Path, help="puts the table into this page of the docs")
    for command in (score, followed):
        command.add_argument(
            "--of", type=Path, metavar="CHECKOUT", default=ROOT, help="by default, this one"
        )
    return parser


def _run(options: argparse.Namespace) -> None:
    checkouts.save(_checked(options.checkout, options), options.save)


def _compare(options: argparse.Namespace) -> None:
    difference = comparing.difference(
        _checked(options.old, options), _checked(options.new, options)
    )
    _print(difference.as_json(), list(comparing.told(difference)), options)


def _score(options: argparse.Namespace) -> None:
    labels = [label for path in options.labels for label in verdicts.read(path)]
    known = {label.repository for label in labels}
    checked = _checked(options.of, options, only=known)
    score = scoring.score(checked, labels, options.folder)
    _print(score.as_json(), list(scoring.told(score)), options)


def _followed(options: argparse.Namespace) -> None:
    loops = following.read(options.functions)
    states = list(following.states(options.of, options.folder, loops, jobs=options.jobs))
    table = list(following.told(states))
    if options.page is not None:
        following.write_page(options.page, table)
    _print([vars(state) for state in states], table, options)


COMMANDS = {"run": _run, "compare": _compare, "score": _score, "followed": _followed}


def _checked(
    source: Path, options: argparse.Namespace, only: set[str] | None = None
) -> list[Checked]:
    """What a checkout says now, or said when it was saved."""
    if source.is_file():
        return checkouts.load(source)
    folders = checkouts.repositories(options.folder)
    if only is not None:
        folders = [path for path in folders if checkouts.name_of(path) in only]
    done = []
    for each in checkouts.check_all(
        source,
        folders,
        possible=options.possible,
        seconds=options.seconds,
        jobs=options.jobs,
    ):
        done.append(each)
        _progress(f"{len(done)} of {len(folders)}: {each.repository}")
    return done


def _progress(line: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


def _print(document: object, lines: list[str], options: argparse.Namespace) -> None:
    print(json.dumps(document, indent=1, default=vars) if options.json else "\n".join(lines))


if __name__ == "__main__":
    sys.exit(main())

"""List all rules, grouped by law.

A law says what must hold for every gradient; a rule is one way to break it. The list says whether
`check` (source code) or `run` (a real training) can find it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradledger.report.terminal import Line, Terminal

if TYPE_CHECKING:
    from gradledger.rules import Rule


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `gradledger rules`."""
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="output format (default: text); json has everything about each rule",
    )


def run(args: argparse.Namespace) -> int:
    """Prints the list."""
    if args.format == "json":
        _print_json()
    else:
        terminal = Terminal()
        terminal.show(_listing(terminal))
    return 0


def _listing(terminal: Terminal) -> Iterator[Line]:
    from gradledger.ledger.laws import Law
    from gradledger.rules import CATALOGUE

    widest = max(len(rule.name) for rule in CATALOGUE)
    for law in Law:
        yield from terminal.prose(law.text, lead=f"Law {law.number}, {law.title}.")
        for rule in CATALOGUE:
            if rule.law is law:
                severity = rule.severity.value
                yield (
                    "  ",
                    (rule.code, "title"),
                    f"  {rule.name:<{widest}}  ",
                    (f"{severity:<7}", severity),
                    (f"  {_seen_by(rule)}", "dim"),
                )
        yield ()
    yield ("check* sees it where the source is plain.",)
    yield (f"{len(CATALOGUE)} rules. To read about one: ", ("gradledger rule GL101", "code"))


def _seen_by(rule: Rule) -> str:
    from gradledger.rules import SeenBy

    if rule.seen_by is SeenBy.RUN_AND_PLAIN_SOURCE:
        return "check* run"
    check, run_ = ("check" * rule.seen_by.by_check, "run" * rule.seen_by.by_run)
    return f"{check:<6} {run_}"


def _print_json() -> None:
    import json

    from gradledger.ledger.laws import Law
    from gradledger.rules import CATALOGUE
    from gradledger.rules.explanation import facts

    laws = [{"number": law.number, "title": law.title, "text": law.text} for law in Law]
    rules = [facts(rule) for rule in CATALOGUE]
    print(json.dumps({"version": 1, "laws": laws, "rules": rules}, indent=2))

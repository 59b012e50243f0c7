"""Explain a symptom or an error message: likely causes, most likely first, and what to run.

  gradledger why "loss oscillates"
  gradledger why < traceback.txt
  python train.py 2>&1 | gradledger why

Without words or input, lists the symptoms and messages it knows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gradledger.report.terminal import Line, Terminal

if TYPE_CHECKING:
    from gradledger.why import Cause, Entry

NOT_KNOWN = 1
MOST_READ = 1_000_000
"""Bytes of the input that are looked at: the last ones, where a traceback is."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `gradledger why`."""
    parser.add_argument(
        "words", nargs="*", metavar="WORDS", help="a symptom or a message (default: standard input)"
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="output format (default: text)"
    )


def run(args: argparse.Namespace) -> int:
    """Prints what is known. Status 1 where nothing is."""
    from gradledger.why import ENTRIES, matches

    text = " ".join(args.words) or _input()
    found = matches(text, ENTRIES) if text.strip() else ()
    if args.format == "json":
        import json

        chosen = found if text.strip() else ENTRIES
        print(json.dumps({"version": 1, "entries": [facts(entry) for entry in chosen]}, indent=2))
        return 0 if chosen else NOT_KNOWN
    terminal = Terminal()
    if found:
        for number, entry in enumerate(found):
            terminal.show([()] if number else [])
            terminal.show(_explained(entry, terminal))
        return 0
    if text.strip():
        terminal.show([("No known symptom or message fits this. gradledger knows these:",), ()])
    terminal.show(_listing(ENTRIES))
    return NOT_KNOWN if text.strip() else 0


def facts(entry: Entry) -> dict[str, object]:
    """An entry for programs."""
    causes = [{"what": c.what, "fix": c.fix, "rule": c.rule or None} for c in entry.causes]
    return {
        "name": entry.name,
        "title": entry.title,
        "says": entry.says,
        "messages": list(entry.messages),
        "causes": causes,
        "run": [command for command, _ in to_run(entry)],
    }


def to_run(entry: Entry) -> tuple[tuple[str, str], ...]:
    """The commands that tell which cause it is, and what each does."""
    from gradledger.rules import find

    rules = [find(code) for code in entry.rules]
    found = []
    if any(rule.seen_by.by_check for rule in rules):
        found.append(("gradledger check train.py", "reads the source, runs nothing"))
    if any(rule.seen_by.by_run for rule in rules):
        found.append(("gradledger run train.py", "runs it and audits every gradient"))
    if rules:
        found.append((f"gradledger rule {' '.join(entry.rules)}", "explains the rules"))
    return tuple(found)


def _input() -> str:
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    if not hasattr(sys.stdin, "buffer"):
        return sys.stdin.read()[-MOST_READ:]
    start = end = sys.stdin.buffer.read(MOST_READ)
    while more := sys.stdin.buffer.read(MOST_READ):
        end = (end + more)[-MOST_READ:]
    # What PowerShell writes into a file is UTF-16; a log may hold bytes that are no text.
    is_utf16 = start.startswith((b"\xff\xfe", b"\xfe\xff")) and b"\0" in start
    return end.decode("utf-16" if is_utf16 else "utf-8", "replace")


def _explained(entry: Entry, terminal: Terminal) -> Iterator[Line]:
    yield ((entry.title, "title"),)
    yield from terminal.prose(entry.says)
    yield ()
    yield (("Likely causes, the likeliest first", "heading"),)
    for number, cause in enumerate(entry.causes, start=1):
        yield from _cause(number, cause, terminal)
    commands = to_run(entry)
    if commands:
        yield ()
        yield (("What to run", "heading"),)
        widest = max(len(command) for command, _ in commands)
        for command, what in commands:
            yield ("  ", (f"{command:<{widest}}", "code"), (f"  {what}", "dim"))


def _cause(number: int, cause: Cause, terminal: Terminal) -> Iterator[Line]:
    rule = f" ({cause.rule})" if cause.rule else ""
    yield from terminal.prose(f"{cause.what}{rule}", lead=f"  {number}.", indent=5)
    yield from terminal.prose(cause.fix, lead="     fix:", indent=10, lead_style="cure")


def _listing(entries: Sequence[Entry]) -> Iterator[Line]:
    widest = max(len(entry.name) for entry in entries)
    for entry in entries:
        yield ("  ", (f"{entry.name:<{widest}}", "code"), f"  {entry.title}")

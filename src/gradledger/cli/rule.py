"""Explain rules: what breaks them, why it matters, and a faulty and a fixed program.

Name a rule by its code (GL101), its name (spent-gradient-reused) or the start of its name. GL1, or
just 1, means all the rules of law 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from gradledger.report.terminal import Line, Terminal

if TYPE_CHECKING:
    from gradledger.rules import Rule
    from gradledger.rules.explanation import Section
    from gradledger.rules.programs import Program


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `gradledger rule`."""
    parser.add_argument("rules", nargs="+", metavar="RULE", help="a code, a name, or a law (GL1)")
    parser.add_argument(
        "--format",
        choices=("text", "markdown", "json"),
        default="text",
        help="output format (default: text)",
    )
    parser.add_argument(
        "--program",
        choices=("bad", "good"),
        help="print one of the example programs instead; it runs as it is",
    )


def run(args: argparse.Namespace) -> int:
    """Prints the explanations."""
    from gradledger.rules.selection import choose

    # Look up all of them first: an error about one should not be hidden below pages of output.
    chosen = list(dict.fromkeys(rule for word in args.rules for rule in choose(word)))
    if args.program:
        from gradledger.rules import programs

        for rule in chosen:
            program = programs.bad(rule) if args.program == "bad" else programs.good(rule)
            sys.stdout.write(program.source)
    elif args.format == "json":
        _print_json(chosen)
    elif args.format == "markdown":
        from gradledger.rules.pages import page

        print("\n".join(page(rule) for rule in chosen), end="")
    else:
        terminal = Terminal()
        for number, rule in enumerate(chosen):
            terminal.show([(), ()] if number else [])
            terminal.show(_explained(rule, terminal))
    return 0


def _explained(rule: Rule, terminal: Terminal) -> Iterator[Line]:
    from gradledger.rules import programs
    from gradledger.rules.explanation import after_the_example, before_the_example

    severity = rule.severity.value
    wrong, right = programs.bad(rule), programs.good(rule)
    yield ((f"{rule.code} {rule.name}", "title"),)
    yield ((severity, severity), f", seen by {rule.seen_by.value}")
    yield from terminal.prose(rule.law.text, lead=f"Law {rule.law.number}, {rule.law.title}.")
    yield from _paragraphs(before_the_example(rule), terminal)
    yield ()
    yield (("Example", "heading"), (f"  {wrong.name}", "dim"))
    yield from terminal.prose(wrong.purpose)
    yield from terminal.frame(wrong, "fault")
    yield ()
    yield (("Use instead", "heading"), (f"  {right.name}", "dim"))
    yield from terminal.frame(right, "cure", sign="+")
    yield from _paragraphs(after_the_example(rule), terminal)


def _paragraphs(sections: Iterable[Section], terminal: Terminal) -> Iterator[Line]:
    for heading, text in sections:
        yield ()
        yield ((heading, "heading"),)
        yield from terminal.prose(text)


def _print_json(chosen: Sequence[Rule]) -> None:
    import json

    from gradledger.rules import programs
    from gradledger.rules.explanation import facts

    def described(program: Program) -> dict[str, object]:
        marks = [{"line": line, "text": text} for line, text in program.marks.items()]
        return {"name": program.name, "source": program.source, "marks": marks}

    rules = [
        {
            **facts(rule),
            "bad": described(programs.bad(rule)),
            "good": described(programs.good(rule)),
        }
        for rule in chosen
    ]
    print(json.dumps({"version": 1, "rules": rules}, indent=2))

"""The text of each rule that was broken, so that the page needs no other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from markupsafe import Markup

from gradledger.report.page.painting import painted
from gradledger.report.page.prose import prose
from gradledger.rules import find, programs
from gradledger.rules.explanation import after_the_example, before_the_example, sentence
from gradledger.rules.programs import Program
from gradledger.rules.rule import Rule


class Listing(NamedTuple):
    """An example program, as much of it as matters."""

    title: str
    lines: tuple[tuple[Markup, str], ...]
    """The code, and what its mark says."""


class RuleText(NamedTuple):
    """What the rule's own page says."""

    code: str
    name: str
    severity: str
    law: str
    before: tuple[tuple[str, Markup], ...]
    purpose: Markup
    listings: tuple[Listing, ...]
    after: tuple[tuple[str, Markup], ...]


def rule_texts(codes: Iterable[str]) -> tuple[RuleText, ...]:
    """A text for each code, in the order of the codes."""
    return tuple(_text(find(code)) for code in sorted(set(codes)))


def _text(rule: Rule) -> RuleText:
    wrong, right = programs.bad(rule), programs.good(rule)
    return RuleText(
        code=rule.code,
        name=rule.name,
        severity=rule.severity.value,
        law=str(rule.law),
        before=tuple((heading, prose(text)) for heading, text in before_the_example(rule)),
        purpose=prose(sentence(wrong.purpose)),
        listings=(_listing("Example", wrong), _listing("Use instead", right)),
        after=tuple((heading, prose(text)) for heading, text in after_the_example(rule)),
    )


def _listing(title: str, program: Program) -> Listing:
    code, shown = program.lines, program.frame()
    lines: list[tuple[Markup, str]] = []
    for before, number in zip([shown[0] - 1, *shown], shown, strict=False):
        if number != before + 1:
            lines.append((Markup("…"), ""))
        lines.append((painted(code[number - 1]), program.marks.get(number, "")))
    return Listing(title, tuple(lines))

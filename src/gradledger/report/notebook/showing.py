"""How a book, a finding or a verdict is displayed."""

from __future__ import annotations

import io
import linecache
import os
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Protocol

from markupsafe import Markup

from gradledger.ledger.findings import Displayed, Finding
from gradledger.ledger.opening import Opening
from gradledger.ledger.verdict import Verdict
from gradledger.report.balance import balance, faultless
from gradledger.report.inspection import Inspection
from gradledger.report.notebook.timeline import timeline
from gradledger.report.page.findings import cards
from gradledger.report.rendering import render
from gradledger.report.templates import template
from gradledger.report.terminal import Line, Terminal, plain
from gradledger.rules.ordering import ordered

_FOLDER = os.path.dirname(__file__)


class Book(Protocol):
    """What is needed of an audit to display it."""

    @property
    def opening(self) -> Opening | None:
        """The first events, if they were kept."""

    @property
    def names(self) -> Mapping[str, str]:
        """The program's names for its optimizers."""

    def verdict(self, subject: str) -> Verdict:
        """The whole verdict."""


class View(Displayed):
    """A verdict with its timeline, or what a check found, for a notebook to display."""

    __slots__ = ("names", "opening", "rows", "said")

    def __init__(
        self,
        said: Verdict | Inspection,
        opening: Opening | None = None,
        names: Mapping[str, str] | None = None,
        rows: Sequence[str] = (),
    ) -> None:
        self.said = said
        self.opening = opening
        self.names = names or {}
        self.rows = rows
        """What there is to say besides, line by line."""

    def __repr__(self) -> str:
        return text(self)


def html(shown: View | Finding | Book) -> str:
    """An HTML fragment for the output of a cell, without scripts and requests."""
    view = _view(shown)
    said, findings = view.said, ordered(view.said.findings)
    pins = {(finding.rule, finding.at): n for n, finding in enumerate(findings, start=1)}
    head, *rest = [""] if isinstance(shown, Finding) else _sentences(said)
    return template(__file__, "cell.html").render(
        state=_state(said),
        head=head,
        rest=[*rest, *view.rows],
        cards=cards(said, findings, {}, set()),
        timeline=timeline(view.opening, view.names, pins) if view.opening else None,
        style=_style(),
    )


def text(shown: View | Finding | Book) -> str:
    """The same as text, as `gradledger run` prints it."""
    stream = io.StringIO()
    if isinstance(shown, Finding):
        from gradledger.report.text import full

        terminal = Terminal(stream)
        terminal.show(full(_alone(shown), terminal))
        return stream.getvalue().rstrip()
    view = _view(shown)
    render(view.said, "text", stream=stream)
    return "\n".join([stream.getvalue().rstrip(), *(f"  {row}" for row in view.rows)])


def _view(shown: View | Finding | Book) -> View:
    if isinstance(shown, View):
        return shown
    if isinstance(shown, Finding):
        return View(_alone(shown))
    return View(shown.verdict("the audited code"), shown.opening, shown.names)


def _alone(finding: Finding) -> Verdict:
    """A finding without its book; its source is read again."""
    paths = {place.path for at in finding.places for place in at.way}
    sources = {path: "".join(lines) for path in paths if (lines := linecache.getlines(path))}
    return Verdict("", (finding,), sources=sources)


def _sentences(said: Verdict | Inspection) -> list[str]:
    terminal = Terminal(io.StringIO())
    lines: list[Line]
    if isinstance(said, Inspection):
        from gradledger.report import survey

        lines = list(survey.lines(said, terminal))
    else:
        from gradledger.report import summary

        lines = list(summary.lines(said, terminal))
    return ["".join(map(plain, line)).strip() for line in lines]


def _state(said: Verdict | Inspection) -> str:
    if isinstance(said, Verdict) and not (said.findings or said.tally.entries):
        return "nothing"
    if balance(said):
        return "balance"
    return "unseen" if faultless(said) else "unbalanced"


@cache
def _style() -> Markup:
    with open(os.path.join(_FOLDER, "templates", "cell.css"), encoding="utf-8") as file:
        return Markup(file.read())

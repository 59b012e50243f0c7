"""A cure as a diff in colour."""

from __future__ import annotations

import re
from typing import NamedTuple

from markupsafe import Markup

from gradledger.report.page.painting import painted
from gradledger.report.visible import TAB, visible
from gradledger.rules import programs
from gradledger.rules.pages import difference
from gradledger.rules.rule import Rule


class Row(NamedTuple):
    """A line of a diff: what becomes of it (`added`, `gone`, `same`, `gap`) and its code."""

    kind: str
    code: Markup


class Patch(NamedTuple):
    """A diff and where it is from."""

    title: str
    rows: tuple[Row, ...]
    certain: bool
    """It cures this very program; else it shows how the rule's own example is cured."""


def cure(diff: str) -> Patch:
    """The one certain edit that cures a finding."""
    return Patch("The cure", _rows(diff), certain=True)


def example(rule: Rule) -> Patch:
    """How the rule's own bad example becomes its good one."""
    diff = difference(programs.bad(rule), programs.good(rule))
    return Patch("The cure, in the rule's example", _rows(diff), certain=False)


_KINDS = {"+": "added", "-": "gone", " ": "same"}


def _rows(diff: str) -> tuple[Row, ...]:
    rows: list[Row] = []
    for line in re.split(r"\r\n|\r|\n", diff):
        if line.startswith("@@"):
            if rows:
                rows.append(Row("gap", Markup("…")))
        elif not line.startswith(("---", "+++", "\\")) and (kind := _KINDS.get(line[:1])):
            rows.append(Row(kind, painted(visible(line[1:].expandtabs(TAB)))))
    return tuple(rows)

"""Files of labelled places: which repository, which lines, which rule, and whether it is a fault.

Tab-separated, with a head. Several spellings are read:

- repo, or repository: owner/name
- path: the file; `notebook.ipynb#3` is its cell 3
- line, or where: `41`, `3:41` (cell and line), `lines:20-41`, `Trainer.fit:20-41`, or
  `cell 3 (0-based)`
- rule, or rules: `GL101`; `GL101,GL203` are two faults; `GL401/GL501` is one, by either name; `OK`
  is none
- verdict, or label: true, false or arguable; without such a column, every place is true
- commit (optional): the place is scored only in a snapshot of that commit
- arguable (optional): rules that may be named there, or not
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from benchmarks.public_code.checkouts import Found

NEAR = 3
"""So many lines from a labelled line, a finding is about it: a call has several lines."""

Verdict = Literal["true", "false", "arguable"]
_RANGE = re.compile(r"(?:.*:)?(\d+)-(\d+)$")
_LINE = re.compile(r"(?:(\d+):)?(\d+)$")
_CELL = re.compile(r"cell (\d+)(?P<zero> \(0-based\))?$")
_RULE = re.compile(r"GL\d{3}")


class NotLabels(ValueError):
    """The file, or a row of it, cannot be read."""


@dataclass(frozen=True)
class Labelled:
    """Lines of a file, and what may be said of them."""

    repository: str
    path: str
    first: int
    last: int
    cell: int | None
    rules: frozenset[str]
    """Any one of them names the fault. None: the code is right, whatever the rule."""
    verdict: Verdict
    commit: str = ""
    allowed: frozenset[str] = frozenset()
    """Rules that may be named there without being false."""

    def is_about(self, found: Found) -> bool:
        """Whether the finding stands there, and its rule is one of the label's."""
        place = found.place
        here = (place.path, place.cell) == (self.path, self.cell)
        near = self.first - NEAR <= place.line <= self.last + NEAR
        return here and near and (not self.rules or found.rule in self.rules)

    def __str__(self) -> str:
        cell = "" if self.cell is None else f":cell {self.cell}"
        lines = f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"
        return f"{'/'.join(sorted(self.rules)) or 'OK'} {self.repository} {self.path}{cell}:{lines}"


def read(path: Path) -> list[Labelled]:
    """The labelled places of a file."""
    text = path.read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    found: list[Labelled] = []
    for number, row in enumerate(rows, start=2):
        try:
            found += _labelled({name: value or "" for name, value in row.items() if name})
        except (KeyError, ValueError) as problem:
            raise NotLabels(f"{path}, line {number}: {problem} cannot be read") from problem
    return found


def _labelled(row: Mapping[str, str]) -> Iterator[Labelled]:
    repository = _either(row, "repo", "repository")
    path, _, cell = row["path"].partition("#")
    first, last, in_cell = _lines(_either(row, "line", "where"))
    named = _either(row, "rule", "rules")
    verdict = _verdict(row)
    allowed = frozenset(_RULE.findall(row.get("arguable", "")))
    for fault in named.split(","):
        rules = frozenset(_RULE.findall(fault))
        if not rules and fault.strip() != "OK":
            raise ValueError(f"the rule {fault!r}")
        yield Labelled(
            repository,
            path,
            first,
            last,
            int(cell) if cell else in_cell,
            rules,
            verdict if rules else "false",
            row.get("commit", ""),
            allowed,
        )


def _either(row: Mapping[str, str], one: str, other: str) -> str:
    if one not in row and other not in row:
        raise ValueError(f"a file with neither a column {one!r} nor {other!r}")
    return row[one] if one in row else row[other]


def _verdict(row: Mapping[str, str]) -> Verdict:
    verdict = row.get("verdict", row.get("label", "true")).strip().lower()
    if verdict not in ("true", "false", "arguable"):
        raise ValueError(f"the verdict {verdict!r}")
    return cast(Verdict, verdict)


def _lines(text: str) -> tuple[int, int, int | None]:
    """First line, last line, cell."""
    if found := _CELL.match(text):
        # A report counts the cells of a notebook from 1.
        return 1, 1_000_000, int(found[1]) + (found["zero"] is not None)
    if found := _RANGE.match(text):
        return int(found[1]), int(found[2]), None
    if found := _LINE.match(text):
        return int(found[2]), int(found[2]), int(found[1]) if found[1] else None
    raise ValueError(f"the place {text!r}")

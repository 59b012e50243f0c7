"""What tools say of the rules' example programs, as tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.results import Cell, Verdicts
from gradledger.rules import Rule


@dataclass(frozen=True)
class Said:
    """How often a tool complains of a rule's bad program, and of its good one.

    `found` are the complaints that tell the two apart; any of the good program is false.
    """

    found: int
    of_bad: int
    of_good: int
    how: str = ""

    @classmethod
    def of(cls, bad: Collection[str], good: Collection[str], marked: Collection[str] = ()) -> Said:
        """By what is said. Of a tool that names rule and line, only those `marked` are found."""
        new = set(bad) - set(good)
        found = new & set(marked) if marked else new
        return cls(len(found), len(bad), len(good), "; ".join(sorted(found)[:1]))

    def cell(self) -> Cell:
        """For the table."""
        if not self.found:
            return Cell("says the same of both" if self.of_bad else "missed", False, how=self.how)
        false = f", {self.of_good} false" if self.of_good else ""
        return Cell(f"found{false}", not self.of_good, self.found, self.how)


Everything = Mapping[str, Mapping[str, Said | str]]
"""By tool and rule; a sentence where the tool could not be asked."""


def verdicts(title: str, rules: Sequence[Rule], said: Everything, note: str = "") -> Verdicts:
    """Rule by rule."""
    cells = {
        rule.code: {tool: _cell(of_rules[rule.code]) for tool, of_rules in said.items()}
        for rule in rules
    }
    cases = {rule.code: rule.name for rule in rules}
    return Verdicts(title, list(said), cases, cells, note)


def sums(title: str, said: Everything, note: str = "") -> Verdicts:
    """In all: faults found, and good programs complained of."""
    cells: dict[str, dict[str, Cell]] = {"found": {}, "false": {}}
    for tool, of_rules in said.items():
        asked = [each for each in of_rules.values() if isinstance(each, Said)]
        found = sum(each.found > 0 for each in asked)
        false = sum(each.of_good > 0 for each in asked)
        cells["found"][tool] = _count(found, len(asked), wanted=len(asked))
        cells["false"][tool] = _count(false, len(asked), wanted=0)
    cases = {"found": "faults found", "false": "good programs complained of"}
    return Verdicts(title, list(said), cases, cells, note)


def _cell(said: Said | str) -> Cell:
    return Cell("not measured", None, how=said) if isinstance(said, str) else said.cell()


def _count(count: int, asked: int, *, wanted: int) -> Cell:
    if not asked:
        return Cell("not measured", None)
    return Cell(f"{count} of {asked}", count == wanted, count)

"""The findings on the panel, with a row each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradledger.ledger.findings import Finding
from gradledger.report.counts import COUNTED, counted
from gradledger.report.paths import inside
from gradledger.report.terminal import Line
from gradledger.report.visible import columns, visible
from gradledger.rules import find
from gradledger.rules.ordering import severity

INDENT, GAP = "  ", "  "
LEAST_PLACE = 12


def fault_rows(findings: Sequence[Finding], room: int, folder: str) -> Iterator[Line]:
    """`error    GL301 accumulation-not-normalized  train.py:14  31 steps`, in columns.

    Where there is no room for the rules' names, their codes are enough.
    """
    places = [visible(f"{inside(f.at.path, folder) or f.at.path}:{f.at.line}") for f in findings]
    names = [find(finding.rule).name for finding in findings]
    counts = [_count(finding) for finding in findings]
    name, count = _widest(names), _widest(counts)
    # The severity's longest word, and a code.
    left = room - len(INDENT) - len("warning") - len("GL301") - 3 * len(GAP) - count
    named = left - name - 1 >= min(_widest(places), 2 * LEAST_PLACE)
    longest = max(left - (name + 1 if named else 0), LEAST_PLACE)
    places = [_end(place, longest) for place in places]
    for number, finding in enumerate(findings):
        level = severity(finding).value
        yield [
            INDENT,
            (f"{level:7}", level),
            GAP,
            (finding.rule, "title"),
            f" {names[number]:{name}}" if named else "",
            GAP,
            (places[number] + " " * (_widest(places) - columns(places[number])), "code"),
            GAP,
            (f"{counts[number]:>{count}}", "dim"),
        ]


def _count(finding: Finding) -> str:
    thing, _ = COUNTED.get(finding.rule, ("", ""))
    if thing:
        return counted(finding.count, thing)
    return "once" if finding.count == 1 else counted(finding.count, "time")


def _widest(texts: Sequence[str]) -> int:
    return max(map(columns, texts), default=0)


def _end(text: str, most: int) -> str:
    """As much of the end as fits: of a path, that is where the file's name is."""
    while columns(text) > most:
        text = "…" + text.lstrip("…")[1:]
    return text

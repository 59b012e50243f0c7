"""The README's numbers: a few rows of all that was measured."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.results import Ratios, Results, Verdicts
from benchmarks.telling import by_ratio, is_ours, ratio, tabled

HEADLINES = (
    ("accumulation cases that end where the big batch does", "correctness", "windows"),
    ("user mistakes reported", "correctness", "misuse"),
    ("time of an update, against the plain loop: 200 small layers", "stepper", "trainers.chain.1"),
    ("the same, a small transformer", "stepper", "trainers.transformer.1"),
    ("rule examples judged right, faulty and fixed, while they train", "auditor", "rules"),
    ("time of an audited step, against the plain loop: transformer", "auditor", "cost.transformer"),
    ("rule examples judged right, faulty and fixed, from their source", "checker", "rules"),
    ("time to check a large tree of installed packages, against ruff", "checker", "large_tree"),
)
"""What is told, and the suite and the table that it is read from."""


def headlines(results: Sequence[Results]) -> str:
    """A small table: ours, and the best of the others. What has no results is left out."""
    by_name = {each.name: each.tables for each in results}
    lines = [["", "gradledger", "best other tool"]]
    for told, suite, key in HEADLINES:
        table = by_name.get(suite, {}).get(key)
        if isinstance(table, Verdicts):
            lines.append([told, *_counted(table)])
        elif isinstance(table, Ratios):
            lines.append([told, *_fastest(table)])
    return tabled(lines)


def _counted(table: Verdicts) -> tuple[str, str]:
    """Whoever does in the most cases what one would want."""

    def good(name: str) -> int:
        return sum(table.cells[case][name].good is True for case in table.cases)

    ours = max((name for name in table.candidates if is_ours(name)), key=good)
    # A loop by hand is what all of them are meant to spare you.
    peers = [name for name in table.candidates if not is_ours(name) and "plain" not in name]
    other = max(peers, key=good)
    mine, theirs = _better_in_bold(str(good(ours)), str(good(other)), good(ours) >= good(other))
    return f"{ours}: {mine} of {len(table.cases)}", f"{other}: {theirs}"


def _fastest(table: Ratios) -> tuple[str, str]:
    """The first of ours, which has all its defaults, and the fastest peer: the baseline if none."""
    ours = next(row for row in table.rows if is_ours(row.name))
    base, *rows = table.rows
    peers = [row for row in rows if row.name in table.peers]
    other = min(peers, key=by_ratio, default=base)
    faster = by_ratio(ours) <= by_ratio(other)
    mine, theirs = _better_in_bold(ratio(by_ratio(ours)), ratio(by_ratio(other)), faster)
    return f"{ours.name}: {mine}", f"{other.name}: {theirs}"


def _better_in_bold(ours: str, other: str, ours_is: bool) -> tuple[str, str]:
    return (f"**{ours}**", other) if ours_is else (ours, f"**{other}**")

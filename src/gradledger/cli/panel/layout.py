"""The layout of the panel: turns facts into a few lines that fit the screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gradledger.cli.panel.facts import Facts
from gradledger.cli.panel.fault_rows import fault_rows
from gradledger.cli.panel.lane_rows import lane_rows
from gradledger.report.counts import counted
from gradledger.report.terminal import Line, Piece, width
from gradledger.report.visible import columns, cut, visible
from gradledger.rules.ordering import WORST_FIRST, severity

MOST_LANES = 3


def laid_out(facts: Facts, *, size: tuple[int, int], folder: str = "") -> list[Line]:
    """The lines of a panel, for so many columns and at most so many rows, of which it needs three.

    Paths are shown as they are seen from the folder.
    """
    room, rows = size
    head = [_title(facts, room)]
    lanes = facts.lanes[: max(_fitting(len(facts.lanes), min(MOST_LANES, rows - 2)), 1)]
    table = list(lane_rows(lanes, room))
    if others := len(facts.lanes) - len(lanes):
        table.append(_rest(others, "optimizer"))
    left = max(rows - len(head) - len(table), 0)
    findings = facts.findings[: _fitting(len(facts.findings), left)]
    faults = list(fault_rows(findings, room, folder))
    if others := len(facts.findings) - len(findings):
        faults.append(_rest(others, "finding"))
    return [*head, *table, *faults][:rows]


def _fitting(count: int, most: int) -> int:
    """So many are shown: all, or one less than there is room for, which goes to "and 3 more"."""
    return count if count <= most else max(most - 1, 0)


def _rest(others: int, thing: str) -> Line:
    return [(f"  and {counted(others, f'more {thing}')}", "dim")]


def _title(facts: Facts, room: int) -> Line:
    """`── gradledger · train.py · no findings so far ─────────── 1:02:03 ──`.

    Where there is no room for all of it, the state is what matters.
    """
    state = _state(facts)
    right: list[Piece] = [(f" {_clock(facts.seconds)} ──", "dim")]
    for name in (f"gradledger · {facts.subject}", facts.subject, cut(visible(facts.subject), 12)):
        left: list[Piece] = [("── ", "dim"), (visible(name), "title"), (" · ", "dim"), *state, " "]
        rule = room - width(left) - width(right)
        if rule > 0:
            return [*left, ("─" * rule, "dim"), *right]
    left = [("── ", "dim"), *state, " "]
    return [*left, ("─" * (room - width(left)), "dim")]


def _state(facts: Facts) -> list[Piece]:
    found = Counter(map(severity, facts.findings))
    state: list[Piece] = []
    for level in WORST_FIRST:
        if found[level]:
            state += [", "] if state else []
            state.append((counted(found[level], level.value), level.value))
    if facts.trouble:
        return [*state, ", " if state else "", ("not audited any more", "error")]
    if not state:
        good = any(lane.steps for lane in facts.lanes) and not facts.unseen
        state = [("no findings so far", "cure" if good else "dim")]
    if facts.unseen:
        state.append((", not all seen", "info"))
    if facts.every > 1:
        state.append((f", 1 cycle in {facts.every:,}", "dim"))
    return state


def _clock(seconds: float) -> str:
    """`0:07`, `12:34`, `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def clipped(line: Line, room: int) -> Sequence[tuple[str, str]]:
    """The pieces of the line, each with its style, cut at the edge of the screen."""
    pieces: list[tuple[str, str]] = []
    for piece in line:
        text, style = piece if isinstance(piece, tuple) else (str(piece), "")
        text = visible(text)
        if columns(text) > room:
            pieces.append((cut(text, room) if room > 1 else "…"[:room], style))
            break
        pieces.append((text, style))
        room -= columns(text)
    return pieces

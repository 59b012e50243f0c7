"""What the ledger player shows of a run: the stretch that was kept, as a play."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from gradledger.ledger.findings import Finding
from gradledger.ledger.naming import Names, spelled
from gradledger.plays.cells import line_in
from gradledger.plays.steps import VERSION, add_faults, step_of
from gradledger.report.chronicle import Chronicle, Shot
from gradledger.report.counts import counted
from gradledger.report.evidence import at
from gradledger.report.sources import LINE_BREAK, LONGEST
from gradledger.report.visible import cut, visible
from gradledger.rules.catalogue import judge

MOST_ROWS = 8
"""So many cells that differ in what happened to them are shown."""
AROUND = 2
"""Lines of code above the first and below the last that is played."""


def play(
    chronicles: Sequence[Chronicle],
    findings: Sequence[Finding],
    sources: Mapping[str, str],
    noun: str,
) -> dict[str, Any] | None:
    """Of the first process in which something was found, else of the first one."""
    found = [chronicle for chronicle in chronicles if chronicle.pins]
    filmed = [chronicle for chronicle in (*found, *chronicles) if chronicle.film]
    return _play(filmed[0], findings, sources, noun) if filmed else None


def about(findings: Sequence[Finding]) -> str:
    """Which stretch of the run it is, in words."""
    return f"around the first {findings[0].rule}" if findings else "at the beginning of the run"


def _play(
    chronicle: Chronicle, findings: Sequence[Finding], sources: Mapping[str, str], noun: str
) -> dict[str, Any] | None:
    paths = Counter(p.path for s in chronicle.film for p in s.event.at.way if p.path in sources)
    if not paths:
        return None
    path = paths.most_common(1)[0][0]
    names = {lane.name: visible(lane.called) for lane in chronicle.lanes}
    steps = [_step(shot, path, findings, names, noun) for shot in chronicle.film]
    lines = [step["line"] for step in steps if step["line"] is not None]
    lanes = [lane for lane in chronicle.lanes if lane.name]
    lanes_at = [line_in(lane.made_at, path) for lane in lanes]
    left_out = _join_alike(steps)
    first = max(1, min(lines) - AROUND) if lines else 1
    code = LINE_BREAK.split(sources[path].lstrip("\ufeff"))[
        first - 1 : max(lines, default=0) + AROUND
    ]
    return {
        "version": VERSION,
        "path": visible(path),
        "what": visible(chronicle.subject),
        "code": [cut(visible(line.expandtabs(4)), LONGEST) for line in code],
        "first": first,
        "lanes": [
            {"name": names[lane.name], "line": line if line and line >= first else None}
            for lane, line in zip(lanes, lanes_at, strict=True)
        ],
        "steps": steps,
        "note": f"{counted(left_out, 'more parameter')} left out." if left_out else "",
    }


def _step(
    shot: Shot, path: str, findings: Sequence[Finding], names: Names, noun: str
) -> dict[str, Any]:
    event = shot.event
    step: dict[str, Any] = step_of(
        event, shot.before, shot.after, path, [{"unit": noun, "number": shot.turn + 1}]
    )
    known = {(finding.rule, finding.at) for finding in findings}
    broken = {}
    for rule, breach in judge(shot.before, event):
        if breach.sure and (rule, breach.at) in known:
            told = spelled(Finding(rule, breach.at, breach.detail, "observed"), names)
            broken[rule] = visible(told.detail)
    add_faults(step, broken)
    step["where"] = at(event.at)
    for cell in step["cells"]:
        cell["lane"] = names.get(cell["lane"], cell["lane"])
    return step


def _join_alike(steps: list[dict[str, Any]]) -> int:
    """Gives parameters to which the same happens one name. Returns how many are left out."""
    history: dict[str, list[int]] = {}
    for number, step in enumerate(steps):
        for place, cell in enumerate(step["cells"]):
            for name in cell["names"]:
                history.setdefault(name, []).extend((number, place))
    alike: dict[tuple[int, ...], list[str]] = {}
    for name, way in history.items():
        alike.setdefault(tuple(way), []).append(name)
    groups = sorted(alike.values(), key=len, reverse=True)
    label = {name: _label(group) for group in groups[:MOST_ROWS] for name in group}
    for step in steps:
        for cell in step["cells"]:
            cell["names"] = sorted({label[name] for name in cell["names"] if name in label})
        step["cells"] = [cell for cell in step["cells"] if cell["names"]]
        step["touches"] = sorted({label[name] for name in step["touches"] if name in label})
    return sum(map(len, groups[MOST_ROWS:]))


def _label(names: Sequence[str]) -> str:
    first = visible(min(names))
    return f"{first} and {len(names) - 1} more" if len(names) > 1 else first

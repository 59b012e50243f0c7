"""Findings against labelled places: what is true, what is false, what was missed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.public_code.checkouts import Checked, Found, name_of
from benchmarks.public_code.verdicts import Labelled

T = TypeVar("T")
NOT_FETCHED = "the repository is not in the folder"
OTHER_COMMIT = "the snapshot is of another commit"


@dataclass
class Tally:
    """How a rule did at the labelled places."""

    found: int = 0
    missed: int = 0
    false: int = 0
    silent: int = 0
    """Right places, or false findings of old, of which nothing is said."""
    unknown: int = 0
    """Those of the silent whose file was not followed whole: that silence says little."""
    arguable: int = 0

    @property
    def precision(self) -> float | None:
        """Of what is said at places that are judged, the part that is true."""
        return _ratio(self.found, self.false)

    @property
    def recall(self) -> float | None:
        """Of the faults, the part that is found."""
        return _ratio(self.found, self.missed)


def _ratio(part: int, rest: int) -> float | None:
    return round(part / (part + rest), 3) if part + rest else None


@dataclass
class Score:
    """What came of the labels, by rule and one by one."""

    rules: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    missed: list[tuple[str, str]] = field(default_factory=list)
    """A fault, and why its code is unknown; empty where it was followed, or never looked at."""
    false: list[tuple[str, str]] = field(default_factory=list)
    """A right place, and what is said of it."""
    unscored: list[tuple[str, str]] = field(default_factory=list)
    """A place that could not be looked at, and why."""
    unjudged: int = 0
    """Findings in these repositories at places without a label."""

    @property
    def total(self) -> Tally:
        """Over all rules."""
        rows = [asdict(tally) for tally in self.rules.values()]
        return Tally(**{name: sum(row[name] for row in rows) for name in asdict(Tally())})

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        rules = {**self.rules, "all": self.total}
        return {
            "rules": {rule: _row(tally) for rule, tally in sorted(rules.items())},
            "missed": self.missed,
            "false": self.false,
            "unscored": self.unscored,
            "unjudged": self.unjudged,
        }


def _row(tally: Tally) -> dict[str, Any]:
    return {**asdict(tally), "precision": tally.precision, "recall": tally.recall}


def score(checked: Iterable[Checked], labels: Iterable[Labelled], folder: Path) -> Score:
    """Scores every label whose repository is there, at the commit that the label names."""
    result = Score()
    by_folder = {each.repository: each for each in checked}
    commits = {name: _commit(folder / name) for name in by_folder}
    places: dict[str, list[Labelled]] = defaultdict(list)
    for label in labels:
        there = [name for name in by_folder if name_of(Path(name)) == label.repository]
        fitting = [name for name in sorted(there) if commits[name].startswith(label.commit)]
        if not fitting:
            result.unscored.append((str(label), OTHER_COMMIT if there else NOT_FETCHED))
        else:
            places[fitting[0]].append(label)
    for name, here in places.items():
        _score_repository(by_folder[name], here, result)
    return result


def _commit(folder: Path) -> str:
    """What the file COMMIT beside the code says; without one, any label fits."""
    path = folder / "COMMIT"
    return path.read_text(encoding="utf-8").strip() if path.is_file() else ""


def _score_repository(checked: Checked, labels: Sequence[Labelled], result: Score) -> None:
    if checked.failure:
        result.unscored += [(str(label), checked.failure) for label in labels]
        return
    said = _assigned(checked.findings, labels)
    judged = {(each.rule, each.place) for found in said.values() for each in found}
    result.unjudged += sum((each.rule, each.place) not in judged for each in checked.findings)
    for label in labels:
        _score_label(label, said.get(label, []), checked, result)


def _assigned(
    findings: Iterable[Found], labels: Sequence[Labelled]
) -> Mapping[Labelled, list[Found]]:
    """What is said of each place: the nearest findings, each at its nearest place."""
    said: dict[Labelled, list[tuple[int, Found]]] = defaultdict(list)
    for found in findings:
        near = [(_distance(label, found), label) for label in labels if label.is_about(found)]
        for distance, label in _nearest(near):
            said[label].append((distance, found))
    return {label: [each for _, each in _nearest(found)] for label, found in said.items()}


def _nearest(entries: Sequence[tuple[int, T]]) -> list[tuple[int, T]]:
    least = min((distance for distance, _ in entries), default=0)
    return [entry for entry in entries if entry[0] == least]


def _distance(label: Labelled, found: Found) -> int:
    return max(label.first - found.place.line, found.place.line - label.last, 0)


def _score_label(label: Labelled, said: Sequence[Found], checked: Checked, result: Score) -> None:
    if label.verdict == "true":
        tally = result.rules["/".join(sorted(label.rules))]
        if said:
            tally.found += 1
        else:
            tally.missed += 1
            result.missed.append((str(label), _why_unknown(label, checked)))
        return
    if label.verdict == "arguable":
        for found in said:
            result.rules[found.rule].arguable += 1
        return
    accused = [found for found in said if _is_false(label, found)]
    for found in accused:
        result.rules[found.rule].false += 1
        result.false.append((str(label), str(found)))
    if not accused:
        tally = result.rules["/".join(sorted(label.rules)) or "OK"]
        tally.silent += 1
        tally.unknown += bool(_why_unknown(label, checked))


def _is_false(label: Labelled, found: Found) -> bool:
    """Of code that is right an info may be told: wasted work breaks nothing."""
    return found.rule not in label.allowed and bool(label.rules or found.severity != "info")


def _why_unknown(label: Labelled, checked: Checked) -> str:
    reasons = [
        f"{each.what}: {each.why}"
        for each in checked.unknown
        if (each.place.path, each.place.cell) == (label.path, label.cell)
    ]
    return "; ".join(reasons)


def told(score: Score) -> Iterator[str]:
    """The score as lines of text."""
    yield "| rule | found | missed | false | silent | unknown | arguable | precision | recall |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for rule, tally in [*sorted(score.rules.items()), ("all", score.total)]:
        row = _row(tally)
        yield f"| {rule} | {' | '.join('' if v is None else str(v) for v in row.values())} |"
    for title, pairs in (
        ("Missed", score.missed),
        ("False", score.false),
        ("Not scored", score.unscored),
    ):
        yield f"\n{title}: {len(pairs)}"
        yield from (f"  {place}{f' ({why})' if why else ''}" for place, why in pairs)
    yield f"\nFindings without a label: {score.unjudged}"

"""Each finding that one checkout has and another has not, and each root that one could not follow.

Findings are the same if rule and place agree. Where a file lost one finding of a rule and gained
one, it has moved; where the words or the certainty differ, it has changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.public_code.checkouts import Checked, Found, Place, Unfollowed

NOT_UNKNOWN = "not among the unknown"


@dataclass(frozen=True)
class Changed:
    """A finding of both checkouts that reads otherwise, or stands elsewhere in its file."""

    old: Found
    new: Found

    def __str__(self) -> str:
        parts = [
            f"{name}: {before} -> {after}"
            for name, before, after in (
                ("line", _where(self.old.place), _where(self.new.place)),
                ("severity", self.old.severity, self.new.severity),
                ("certainty", self.old.certainty, self.new.certainty),
                ("message", self.old.message, self.new.message),
            )
            if before != after
        ]
        return f"{self.new.rule} {self.new.place} {'; '.join(parts)}"


@dataclass(frozen=True)
class RootChanged:
    """A root that only one of them could follow, or that is unknown for another reason."""

    place: Place
    what: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.place} {self.what}: {self.old} -> {self.new}"


@dataclass(frozen=True)
class Cost:
    """What one repository costs, in CPU seconds, and how many roots were followed."""

    repository: str
    old: float
    new: float
    old_followed: int
    new_followed: int


@dataclass(frozen=True)
class Difference:
    """All in which two checkouts differ on the same repositories."""

    gained: tuple[Found, ...]
    lost: tuple[Found, ...]
    changed: tuple[Changed, ...]
    roots: tuple[RootChanged, ...]
    failures: tuple[tuple[str, str, str], ...]
    """Repository, and how each of the two failed there."""
    costs: tuple[Cost, ...]
    only_one: tuple[str, ...] = ()
    """Repositories that only one of them was run on."""

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {**asdict(self), "total": self.total()}

    def total(self) -> dict[str, float]:
        """Sums over all repositories."""
        return {
            "old_seconds": round(sum(cost.old for cost in self.costs), 2),
            "new_seconds": round(sum(cost.new for cost in self.costs), 2),
            "old_followed": sum(cost.old_followed for cost in self.costs),
            "new_followed": sum(cost.new_followed for cost in self.costs),
        }


def difference(old: Iterable[Checked], new: Iterable[Checked]) -> Difference:
    """What differs; repositories that failed in one of them have no findings to compare."""
    before = {each.repository: each for each in old}
    after = {each.repository: each for each in new}
    both = [(before[name], after[name]) for name in sorted(before.keys() & after.keys())]
    whole = [(a, b) for a, b in both if not (a.failure or b.failure)]
    gained, lost, changed = _findings(
        [found for a, _ in whole for found in a.findings],
        [found for _, b in whole for found in b.findings],
    )
    return Difference(
        tuple(gained),
        tuple(lost),
        tuple(changed),
        tuple(root for a, b in whole for root in _roots(a.unknown, b.unknown)),
        tuple((a.repository, a.failure, b.failure) for a, b in both if a.failure or b.failure),
        tuple(Cost(a.repository, a.seconds, b.seconds, a.followed, b.followed) for a, b in both),
        tuple(sorted(before.keys() ^ after.keys())),
    )


def _findings(
    old: Iterable[Found], new: Iterable[Found]
) -> tuple[list[Found], list[Found], list[Changed]]:
    """Gained, lost, changed."""
    before = {(found.rule, found.place): found for found in old}
    after = {(found.rule, found.place): found for found in new}
    changed = [
        Changed(before[key], after[key])
        for key in before.keys() & after.keys()
        if before[key] != after[key]
    ]
    lost = _by_file(before[key] for key in before.keys() - after.keys())
    gained = _by_file(after[key] for key in after.keys() - before.keys())
    for key in lost.keys() & gained.keys():
        if len(lost[key]) == len(gained[key]) == 1:
            changed.append(Changed(lost.pop(key)[0], gained.pop(key)[0]))
    return _in_order(gained), _in_order(lost), sorted(changed, key=lambda each: _key(each.new))


def _by_file(found: Iterable[Found]) -> dict[tuple[str, str, str], list[Found]]:
    files: dict[tuple[str, str, str], list[Found]] = defaultdict(list)
    for each in found:
        files[each.rule, each.place.repository, each.place.path].append(each)
    return files


def _in_order(files: dict[tuple[str, str, str], list[Found]]) -> list[Found]:
    return sorted((each for found in files.values() for each in found), key=_key)


def _key(found: Found) -> tuple[str, str, int, int, str]:
    place = found.place
    return place.repository, place.path, place.cell or 0, place.line, found.rule


def _where(place: Place) -> str:
    return f"{'' if place.cell is None else f'{place.cell}:'}{place.line}"


def _roots(old: Sequence[Unfollowed], new: Sequence[Unfollowed]) -> Iterator[RootChanged]:
    before = {(each.place.path, each.what): each for each in old}
    after = {(each.place.path, each.what): each for each in new}
    for key in sorted(before.keys() | after.keys()):
        a, b = before.get(key), after.get(key)
        if a is not None and b is not None and a.why == b.why:
            continue
        one = b or a
        assert one is not None
        yield RootChanged(
            one.place,
            one.what,
            f"unknown, {a.why}" if a else NOT_UNKNOWN,
            f"unknown, {b.why}" if b else NOT_UNKNOWN,
        )


def told(difference: Difference, *, slowest: int = 5) -> Iterator[str]:
    """The difference as lines of text."""
    lists: tuple[tuple[str, Sequence[object]], ...] = (
        ("Findings gained", difference.gained),
        ("Findings lost", difference.lost),
        ("Findings changed", difference.changed),
        ("Roots whose state changed", difference.roots),
    )
    for title, entries in lists:
        yield f"{title}: {len(entries)}"
        yield from (f"  {entry}" for entry in entries)
    yield f"Crashes and time-outs: {len(difference.failures)}"
    for repository, old, new in difference.failures:
        yield f"  {repository}: {old or 'done'} -> {new or 'done'}"
    if difference.only_one:
        yield f"Run on by only one of them: {', '.join(difference.only_one)}"
    total = difference.total()
    yield f"Roots followed: {total['old_followed']} -> {total['new_followed']}"
    yield f"CPU seconds: {total['old_seconds']:.1f} -> {total['new_seconds']:.1f}"
    for cost in sorted(difference.costs, key=lambda cost: -max(cost.old, cost.new))[:slowest]:
        yield f"  {cost.repository}: {cost.old:.1f} -> {cost.new:.1f}"

"""Chronicles of several ranks, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from gradledger.ledger.verdict import Verdict
from gradledger.report.chronicle.story import Chronicle, Mark
from gradledger.report.counts import counted
from gradledger.rules.ordering import ordered
from gradledger.rules.ranks import Testimony, merged


class Difference(NamedTuple):
    """Consecutive turns in which ranks did different things."""

    turn: int
    last_turn: int
    ranks: tuple[int, ...]
    """The ranks that did something else than the first one."""
    what: str
    """What each rank did in the first of these turns."""


Deed = tuple[tuple[str, tuple[str, ...], str], ...]
"""A turn in terms that are the same on each rank: kinds of events, optimizers, places."""


def together(chronicles: Sequence[Chronicle]) -> Verdict:
    """One verdict for all ranks; it also says which ranks left no recording."""
    first, *others = sorted(chronicles, key=lambda one: one.run.rank)
    if first.run.world_size == 1:
        return first.verdict
    testimonies = {one.run.rank: Testimony(one.verdict, one.fingerprints) for one in others}
    own = Testimony(first.verdict, first.fingerprints)
    verdict = merged(own, testimonies, first.run.world_size, rank=first.run.rank)
    return verdict._replace(findings=tuple(ordered(verdict.findings)))


def differences(chronicles: Sequence[Chronicle]) -> tuple[Difference, ...]:
    """The turns in which ranks did different things."""
    if len(chronicles) < 2:
        return ()
    deeds = [[_deed(pattern, one) for pattern in one.patterns] for one in chronicles]
    found: list[Difference] = []
    for turn in range(max(len(one.turns) for one in chronicles)):
        done = [
            deeds[n][one.turns[turn]] if turn < len(one.turns) else None
            for n, one in enumerate(chronicles)
        ]
        ranks = tuple(one.run.rank for n, one in enumerate(chronicles) if done[n] != done[0])
        if not ranks:
            continue
        if found and found[-1].last_turn == turn - 1 and found[-1].ranks == ranks:
            found[-1] = found[-1]._replace(last_turn=turn)
            continue
        said = (
            f"rank {one.run.rank}: {_words(deed)}"
            for one, deed in zip(chronicles, done, strict=True)
        )
        found.append(Difference(turn, turn, ranks, "; ".join(said)))
    return tuple(found)


def _deed(pattern: Sequence[Mark], chronicle: Chronicle) -> Deed:
    return tuple(
        (
            mark.kind,
            tuple(chronicle.lanes[lane].name for lane in mark.lanes),
            str(chronicle.sites[mark.site]),
        )
        for mark in pattern
    )


def _words(deed: Deed | None) -> str:
    if deed is None:
        return "has ended"
    kinds = Counter(kind for kind, _, _ in deed)
    return ", ".join(counted(n, kind) for kind, n in kinds.items()) or "nothing"

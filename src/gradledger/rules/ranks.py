"""One verdict of many ranks: what each has to say, and what only their comparison tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gradledger.ledger.events import Compare
from gradledger.ledger.findings import Evidence, Finding, one_per_fault
from gradledger.ledger.page import Page
from gradledger.ledger.places import Place
from gradledger.ledger.unseen import summed
from gradledger.ledger.values import replace
from gradledger.ledger.verdict import Verdict
from gradledger.rules.catalogue import YIELDS_TO, judge

Fingerprints = list[tuple[Place, int, Mapping[str, int]]]
"""After which step, where, each parameter looked like what."""


class Testimony(NamedTuple):
    """What one rank has to say."""

    verdict: Verdict
    fingerprints: Fingerprints
    end: str = ""
    """What became of it, if it did not come to its end: `died of ValueError: …`."""
    whole: bool = True
    """It was left at the end. Else it is what was known on the way."""


def merged(
    own: Testimony, others: Mapping[int, Testimony], world: int, *, rank: int = 0
) -> Verdict:
    """One verdict for all ranks: this one's, with what only others found."""
    all_ranks = {rank: own, **others}
    findings = list(_united(all_ranks))
    findings += _diverged(all_ranks)
    sources = {path: text for t in all_ranks.values() for path, text in t.verdict.sources.items()}
    lost = sorted(set(range(world)) - all_ranks.keys())
    told = {rank: t.verdict.trouble for rank, t in all_ranks.items() if t.verdict.trouble}
    troubles = [f"{words} (rank {rank})" if rank else words for rank, words in told.items()]
    ends: dict[str, list[str]] = {}
    for number, testimony in sorted(all_ranks.items(), key=lambda one: (one[1].whole, one[0])):
        if end := testimony.end:
            steps = testimony.verdict.tally.steps
            read = "" if testimony.whole or not steps else f" (read up to step {steps:,})"
            ends.setdefault(end + read, []).append(str(number))
    troubles += [f"rank {', '.join(those)} {end}" for end, those in ends.items()]
    if lost:
        troubles.append(f"nothing was heard from rank {', '.join(map(str, lost))}")
    return own.verdict._replace(
        findings=one_per_fault(findings, YIELDS_TO),
        sources=sources,
        ranks=world,
        trouble="; ".join(troubles),
        unseen=summed(entry for _, t in sorted(all_ranks.items()) for entry in t.verdict.unseen),
    )


def _united(all_ranks: Mapping[int, Testimony]) -> Iterator[Finding]:
    """Each finding once, with the ranks that it was made on where those are not all."""
    by_place: dict[tuple[str, Place], dict[int, Finding]] = {}
    for rank, testimony in all_ranks.items():
        for finding in testimony.verdict.findings:
            by_place.setdefault((finding.rule, finding.at), {})[rank] = finding
    for on_ranks in by_place.values():
        first = next(iter(on_ranks.values()))
        count = max(finding.count for finding in on_ranks.values())
        evidence = first.evidence
        if len(on_ranks) < len(all_ranks):
            evidence = (*evidence, Evidence("on rank", None, ", ".join(map(str, on_ranks))))
        yield replace(first, count=count, evidence=evidence)


def _diverged(all_ranks: Mapping[int, Testimony]) -> Iterator[Finding]:
    """GL803, if the replicas looked different after some step.

    A rank that has died took fewer fingerprints: the others are compared without it from then on.
    """
    by_step: dict[int, list[tuple[Place, Mapping[str, int]]]] = {}
    for _, testimony in sorted(all_ranks.items()):
        for at, step, prints in testimony.fingerprints:
            by_step.setdefault(step, []).append((at, prints))
    for _, ((at, prints), *others) in sorted(by_step.items()):
        differ = {
            name
            for name, value in prints.items()
            for _, other in others
            if other.get(name) != value
        }
        if differ:
            for rule, breach in judge(Page(), Compare(at, frozenset(differ), equal=False)):
                yield Finding(
                    rule, breach.at, breach.detail, "observed", breach.evidence, breach.cells
                )
            return

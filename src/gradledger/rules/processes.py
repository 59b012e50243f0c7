"""One verdict of many processes: ranks among them are compared, others are counted together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gradledger.ledger.events import Event
from gradledger.ledger.findings import Evidence, Finding, one_per_fault
from gradledger.ledger.outcomes import NOTHING
from gradledger.ledger.places import Place
from gradledger.ledger.unseen import summed
from gradledger.ledger.values import replace
from gradledger.ledger.verdict import Verdict
from gradledger.rules.catalogue import YIELDS_TO
from gradledger.rules.ordering import ordered
from gradledger.rules.ranks import Testimony, merged


class Heard(NamedTuple):
    """What a process that the program started has to say."""

    name: str
    began: int
    rank: int | None
    world: int
    launch: str
    """Which ranks belong together."""
    testimony: Testimony
    elsewhere: bool = False
    """The machine of rank 0 has heard it, and speaks for all."""
    recording: str = ""
    """Where it was recorded, if it was."""


def together(own: Verdict, children: Sequence[Heard]) -> Verdict:
    """One verdict for a program and the processes that it started."""
    units = [*_launches(children), *_alone(children)]
    if not units:
        return own
    if _says_something(own):  # else it is a launcher, or one of the ranks
        units.insert(0, (own.subject, own))
    if len(units) == 1:
        ((_, verdict),) = units
        trouble = _joined([own.trouble, verdict.trouble])
        return verdict._replace(
            subject=own.subject,
            seconds=max(own.seconds, verdict.seconds),
            trouble=trouble,
            unseen=summed((*own.unseen, *verdict.unseen)),
        )
    return _summed(own, dict(units))


def _says_something(verdict: Verdict) -> bool:
    return bool(verdict.findings or verdict.tally.entries)


def _launches(children: Iterable[Heard]) -> Iterator[tuple[str, Verdict]]:
    """Ranks that trained together, each launch as one. A restart, or a second `spawn`, is another.

    Where a rank comes again it is of the next launch: they are in the order of their beginning.
    """
    launches: dict[tuple[str, int, int], dict[int, Heard]] = {}
    seen: dict[tuple[str, int, int], int] = {}
    for heard in children:
        if heard.rank is not None:
            key = heard.launch, heard.world, heard.rank
            seen[key] = again = seen.get(key, 0) + 1
            launches.setdefault((heard.launch, heard.world, again), {})[heard.rank] = heard
    for number, ranks in enumerate(launches.values(), start=1):
        first = min(ranks)
        others = {rank: heard.testimony for rank, heard in ranks.items() if rank != first}
        verdict = merged(ranks[first].testimony, others, ranks[first].world, rank=first)
        yield ("ranks" if len(launches) == 1 else f"ranks of launch {number}"), verdict


def _alone(children: Iterable[Heard]) -> Iterator[tuple[str, Verdict]]:
    """Processes that are no ranks."""
    names: dict[str, int] = {}
    for heard in children:
        if heard.rank is None:
            names[heard.name] = count = names.get(heard.name, 0) + 1
            name = heard.name if count == 1 else f"{heard.name} (again, {count})"
            said = heard.testimony
            steps = said.verdict.tally.steps
            read = f" (read up to step {steps:,})" if steps and not said.whole else ""
            end = f"process {name} {said.end}{read}" if said.end else ""
            yield name, said.verdict._replace(trouble=_joined([said.verdict.trouble, end]))


def _summed(own: Verdict, units: Mapping[str, Verdict]) -> Verdict:
    """All of them: what they counted is added up."""
    tally, sources = NOTHING, dict[str, str]()
    occurrences: Counter[tuple[Place, type[Event]]] = Counter()
    for verdict in units.values():
        tally = tally.plus(verdict.tally)
        sources.update(verdict.sources)
        occurrences.update(verdict.occurrences)
    findings = one_per_fault(_united(units), YIELDS_TO)
    unseen = [entry for verdict in units.values() for entry in verdict.unseen]
    return own._replace(
        findings=tuple(ordered(findings)),
        tally=tally,
        # Most often they train the same model, or copies of it.
        parameters=max(verdict.parameters for verdict in units.values()),
        occurrences=occurrences,
        sources=sources,
        ranks=max(verdict.ranks for verdict in units.values()),
        trouble=_joined(verdict.trouble for verdict in units.values()),
        unseen=summed(unseen if _says_something(own) else [*own.unseen, *unseen]),
    )


def _united(units: Mapping[str, Verdict]) -> Iterator[Finding]:
    """Each finding once, with the processes that made it where those are not all."""
    by_place: dict[tuple[str, Place], dict[str, Finding]] = {}
    for name, verdict in units.items():
        for finding in verdict.findings:
            by_place.setdefault((finding.rule, finding.at), {})[name] = finding
    for found in by_place.values():
        first = next(iter(found.values()))
        evidence = first.evidence
        if len(found) < len(units):
            evidence = (*evidence, Evidence("in process", None, ", ".join(found)))
        yield replace(
            first,
            count=sum(finding.count for finding in found.values()),
            cells=frozenset().union(*(finding.cells for finding in found.values())),
            evidence=evidence,
        )


def _joined(troubles: Iterable[str]) -> str:
    return "; ".join(filter(None, troubles))

"""How sure a breach is by the paths on which it happens, before anything speaks against it."""

from __future__ import annotations

from collections.abc import Collection

from gradledger.ledger.findings import Certainty
from gradledger.static.certainty.by_rule import conditions_of
from gradledger.static.solve.breaches import Breaches, Fault, Visit
from gradledger.static.solve.paths import Path


def levels(met: Breaches, options: Collection[str]) -> dict[Fault, Certainty]:
    """For each fault: certain, if it is certain in some round of some event.

    `options` are conditions that hold for a whole run: what is broken whenever one of them has
    some answer is certain too, for those who chose it.
    """
    best: dict[Fault, Certainty] = {}
    for visit, faults in met.broken.items():
        for fault in faults:
            if best.get(fault) != "certain":
                best[fault] = "certain" if _is_certain(fault, visit, met, options) else "possible"
    return best


def _is_certain(fault: Fault, visit: Visit, met: Breaches, options: Collection[str]) -> bool:
    conditions = conditions_of(fault[0])
    broken, all_met = met.broken[visit][fault], met.met[visit]
    return _is_broken(
        broken, all_met, conditions.may_depend_on(met, options)
    ) or conditions.certain_round(fault, visit, met)


def _is_broken(broken: set[Path], met: set[Path], facts: Collection[str]) -> bool:
    """True if it is broken on all paths, or on all on which one of these facts has some answer."""
    if broken == met:
        return True
    if not broken or not facts:
        return False
    chosen = {fact for _, known in broken for fact in known if fact[0] in facts}
    return any(all(path in broken for path in met if fact in path[1]) for fact in chosen)

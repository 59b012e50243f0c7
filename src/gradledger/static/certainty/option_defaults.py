"""Windows whose size is an option that is 1 by default: what breaks them is off until it is set.

The fault is in the code all the same, for whoever sets the option. A finding says so, and where.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradledger.ledger.findings import ONLY_WITH, Evidence, Finding
from gradledger.ledger.values import replace
from gradledger.static.certainty.condition_words import default_told
from gradledger.static.ir import condition_names
from gradledger.static.ir.blocks import events_in, pieces
from gradledger.static.ir.program import Loop, Program, Tick
from gradledger.static.lower.option_defaults import Stated, stated_sizes
from gradledger.static.project.module import Module

OF_WINDOWS = frozenset({"GL203", "GL301", "GL302", "GL502", "GL504", "GL802"})
"""Rules that a window of one micro-batch can't break."""

NOTE = "with 1, all is well"


def told(findings: Iterable[Finding], program: Program, module: Module) -> Iterator[Finding]:
    """The findings; with those that need a larger window than the default, where that stands."""
    for finding in findings:
        stated = None
        if finding.rule in OF_WINDOWS:
            names = {
                condition_names.size_of(tick.ends.rpartition(" ")[0])
                for tick in _ticks(finding, program)
            }
            ones = [_set_to_one(name, module) for name in sorted(names)]
            stated = ones[0] if ones and None not in ones else None
        if stated is None:
            yield finding
        else:
            evidence = (*finding.evidence, Evidence("default", stated.at, NOTE))
            # What its witness takes for granted replaces this, if one is found in time.
            larger = f"{ONLY_WITH}`{stated.spelled}` above 1; {default_told(stated)}"
            yield replace(finding, evidence=evidence, assumptions=(larger,))


def _ticks(finding: Finding, program: Program) -> Iterator[Tick]:
    """The windows of the loops that the finding is in."""
    for piece in pieces(program):
        if isinstance(piece, Loop) and any(e.at == finding.at for e in events_in(piece)):
            yield from (inner for inner in pieces(piece) if isinstance(inner, Tick))


def _set_to_one(name: str, module: Module) -> Stated | None:
    """Where the file makes this 1, for those who say nothing else."""
    if not name.isidentifier():  # a number, say: to look for it would be to walk the whole file
        return None
    set_to = stated_sizes(name, module)
    return next((s for s in set_to if s.value == 1 and s.value is not True), None)

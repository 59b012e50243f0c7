"""Which note speaks against which rule, and which notes touch a finding.

A finding that a note speaks against is possible at most. A note counts only where it may be about
the same parameters: the finding's optimizer, what that one holds, or its own place.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger.findings import Finding
from gradledger.static.certainty.sight import Sight
from gradledger.static.domain.values import Optimizer
from gradledger.static.ir.blocks import events_in
from gradledger.static.ir.effects import Deposits
from gradledger.static.ir.keys import NO_KEYS, Keys, within
from gradledger.static.ir.notes import (
    AttributesReplaced,
    AveragedByHand,
    ClearBehindFlag,
    FrozenHandedOut,
    GradientHook,
    GradientsCopied,
    GradientViews,
    GraphInParts,
    ManyAsOne,
    ModuleKeepsGraph,
    Note,
    OneOfMany,
    ScaledUnits,
    ScheduleCountsBatches,
    ScheduleWaits,
    StepHook,
    SyncsByOption,
    UnscalesIfEnabled,
    ZeroGradEscapes,
)

SPEAKS_AGAINST: dict[type[Note], tuple[str, ...]] = {
    StepHook: ("GL101",),
    ZeroGradEscapes: ("GL101",),
    GradientViews: ("GL101",),
    GradientsCopied: ("GL101", "GL201", "GL501"),
    ClearBehindFlag: ("GL101", "GL201"),
    ManyAsOne: (
        *("GL101", "GL102", "GL201", "GL202", "GL203", "GL204", "GL301", "GL302"),
        *("GL403", "GL404", "GL405", "GL501", "GL502"),
    ),
    OneOfMany: ("GL403", "GL405"),
    UnscalesIfEnabled: ("GL405",),
    ScaledUnits: ("GL401",),
    GradientHook: ("GL301", "GL302"),
    FrozenHandedOut: ("GL202", "GL501"),
    ModuleKeepsGraph: ("GL703",),
    GraphInParts: ("GL703",),
    AttributesReplaced: ("GL703",),
    SyncsByOption: ("GL802",),
    AveragedByHand: ("GL801",),
    ScheduleCountsBatches: ("GL504",),
    ScheduleWaits: ("GL503",),
}

OF_ITS_PLACE = (ScaledUnits, ScheduleCountsBatches, ScheduleWaits)
"""Notes about what happens at one place: they touch the findings there."""


def speaking_against(finding: Finding, sight: Sight) -> Iterator[Note]:
    """The notes that speak against the finding."""
    for note in sight.root.notes:
        if finding.rule in SPEAKS_AGAINST[type(note)] and touches(note, finding, sight):
            yield note


def touches(note: Note, finding: Finding, sight: Sight) -> bool:
    """True if the note may be about what the finding is about."""
    if isinstance(note, OF_ITS_PLACE):
        return note.at == finding.at
    if not (note.keys or note.optimizers) or not finding.cells:
        return True
    owners = [sight.root.optimizers[n] for n, cells in sight.owned.items() if cells & finding.cells]
    noted = _optimizers(note.optimizers, sight)
    if any(one.name == other.name or _may_be_one(one, other) for one in owners for other in noted):
        return True
    if note.keys and any(owner.keys is None for owner in owners):
        return True  # nobody sees whose parameters these are
    held = note.keys.union(*(other.keys or NO_KEYS for other in noted))
    return _meet(_reached(finding, owners, sight), _with_contents(held, sight))


def _optimizers(names: Keys, sight: Sight) -> list[Optimizer]:
    return [o for o in sight.root.optimizers.values() if o.name in names or o.key in names]


def _may_be_one(one: Optimizer, other: Optimizer) -> bool:
    """True if two optimizers from outside may be one, because it isn't known what they hold."""
    return one.outside and other.outside and (one.keys is None or other.keys is None)


def _reached(finding: Finding, owners: list[Optimizer], sight: Sight) -> Keys:
    """The cells, all else that their optimizers hold, and what a backward at its place reaches."""
    reached = finding.cells.union(*(owner.keys or NO_KEYS for owner in owners))
    assert sight.root.program is not None
    for effect in events_in(sight.root.program):
        if isinstance(effect, Deposits) and effect.at == finding.at:
            reached |= effect.keys | effect.maybe
    return reached


def _with_contents(keys: Keys, sight: Sight) -> Keys:
    """The keys, and what the objects hold under other names."""
    contents = sight.contents
    return keys.union(*(contents[k] for k in contents if any(within(k, key) for key in keys)))


def _meet(some: Keys, others: Keys) -> bool:
    return any(within(a, b) or within(b, a) for a in some for b in others)

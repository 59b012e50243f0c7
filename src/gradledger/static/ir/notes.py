"""What lowering met that could speak against a finding, and on which object.

A note judges nothing and names no rule: `certainty/` has the table that says against what it
speaks, and counts only the notes that touch the cells of the finding.
"""

from __future__ import annotations

from gradledger.ledger.places import Place
from gradledger.ledger.values import Value
from gradledger.static.ir.keys import NO_KEYS, Keys


class Note(Value):
    """Something at this place, about what these keys name or about these optimizers.

    Without either it may be about any object.
    """

    at: Place
    keys: Keys = NO_KEYS
    optimizers: Keys = NO_KEYS


class StepHook(Note):
    """A hook runs behind each step; it likely clears."""


class ZeroGradEscapes(Note):
    """`clear = optimizer.zero_grad`: whoever has it can clear, under another name."""


class GradientViews(Note):
    """`p.grad = …`: a view of a buffer is cleared with the buffer, out of sight."""


class GradientsCopied(Note):
    """Gradients are copied from other gradients, as with weights in two precisions."""


class ClearBehindFlag(Note):
    """A clear depends on a flag that goes from round to round, which isn't followed."""


class ManyAsOne(Note):
    """One optimizer stands for all of a collection, and the code picks some of them."""


class OneOfMany(Note):
    """A scaler unscales or steps one of a collection of optimizers, each time maybe another."""


class UnscalesIfEnabled(Note):
    """`if …: scaler.unscale_(…)`: without a scale, nothing is unscaled."""


class ScaledUnits(Note):
    """A norm is read where the file converts numbers to the unit of scaled gradients."""


class GradientHook(Note):
    """A hook on a parameter gets each of its gradients; it likely divides."""


class FrozenHandedOut(Note):
    """A frozen net goes to code that may add parameters to it, or unfreeze it."""


class ModuleKeepsGraph(Note):
    """A module may keep a part of its graph in itself, for a later backward."""


class GraphInParts(Note):
    """A loop goes over parts of a value that has a graph: each may have a part of that graph."""


class AttributesReplaced(Note):
    """A method that isn't followed may give its object other models or graphs."""


class SyncsByOption(Note):
    """An option may say whether ranks average the gradients of all micro-batches."""


class AveragedByHand(Note):
    """Ranks average gradients or parameters with calls of their own."""


class ScheduleCountsBatches(Note):
    """A schedule moves here that may count batches instead of updates."""


class ScheduleWaits(Note):
    """A schedule moves here at certain times only, or for one optimizer of several."""

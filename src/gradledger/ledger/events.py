"""What can happen to gradients: the events that every front end produces.

Front ends (the checker, the auditor, the Stepper) turn code or calls into these; the book and the
rules know nothing else. A cell is named by its parameter. An event says what really happened, not
what was called: a step that a scaler held back is `Skipped`, not `Step`.
"""

from __future__ import annotations

from gradledger.ledger.places import Place
from gradledger.ledger.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

CellNames = frozenset[str]
NO_CELLS: CellNames = frozenset()

BY_HAND = "by hand"
"""The owner of cells that code spends itself, under `no_grad`, without an optimizer."""


class Event(Value):
    """Something happened at a place in the code."""

    at: Place


# Who is who ---------------------------------------------------------------------------------


class Traits(Value):
    """What a cell is, apart from what it holds."""

    parameter: bool = True
    """A module's parameter; inputs, interpolates and other leaves are not (Law 6 is not theirs)."""
    frozen: bool = False
    low_precision: bool = False
    """The cell adds up in bf16 or fp16."""


class Declare(Event):
    """A front end tells what some cells are; said again when it changes (freezing, casting)."""

    cells: CellNames
    traits: Traits = Traits()


class Own(Event):
    """An optimizer takes cells into its param groups: when it is made, or later."""

    optimizer: str
    cells: CellNames


class Replace(Event):
    """The model no longer holds the tensors of `cells`; those of `by` stand in their place."""

    cells: CellNames
    by: CellNames = NO_CELLS


class Gone(Event):
    """Tensors, and optimizers that held them, no longer exist: no step will spend their cells."""

    cells: CellNames
    optimizers: frozenset[str] = frozenset()


# Deposits -----------------------------------------------------------------------------------


class Weight(Value):
    """How much a deposit counts, as far as the front end can tell (None: it can't)."""

    reduction: Literal["mean", "sum"] | None = None
    divisor: float | str | None = None
    """What the code divided the loss by: 1 for not at all, a name where the value is not known."""
    items: int | None = None
    """How many items (rows, tokens) the mean was taken over."""
    items_vary: bool = False
    """The number of items is not known, and is another in each batch: padding is left out."""
    framework_divides: bool = False
    divided_at: Place | None = None
    summed: bool = False
    """It is a sum that was divided by as many as it has items: or by as many micro-batches."""
    factor: float = 1
    """What the code multiplied the loss by, where that is more than 1: `10 * bce`."""


UNKNOWN_WEIGHT = Weight()


class Backward(Event):
    """A backward pass that put something into `cells`."""

    cells: CellNames
    weight: Weight = UNKNOWN_WEIGHT
    scaler: str | None = None
    """The GradScaler that multiplied the loss, if any."""
    non_finite: CellNames = NO_CELLS
    """The cells that this pass brought a NaN or an Inf into."""
    partial: bool = False
    """An exception ended it half way: other cells that it should have reached got nothing."""
    local: bool = False
    """On many ranks: what was deposited is this rank's own until a `Sync`."""
    retain_graph: bool = False
    walks: frozenset[Place] = frozenset()
    """Graphs kept from before that it went through: where each was kept (`Keep`) or retained."""
    continues: bool = False
    """More of a pass of which a hook has spent a part already."""


class Walk(Event):
    """Code went through a graph without a deposit (`torch.autograd.grad`)."""

    walks: frozenset[Place] = frozenset()
    """As in `Backward`."""


class Edit(Event):
    """Code changed gradients by hand.

    assign: `.grad` was set, which is a deposit by hand and ends what was there.
    scale: all of it was multiplied by `factor` (None: not known).
    change: anything else, such as noise or surgery.
    """

    cells: CellNames
    kind: Literal["assign", "scale", "change"]
    factor: float | None = None


class Read(Event):
    """Code looked at gradients. `needed`: it goes wrong where there is none."""

    cells: CellNames
    needed: bool = False


# Units and order ----------------------------------------------------------------------------


class Unscale(Event):
    """`scaler.unscale_(optimizer)` was called; torch refuses a second one before `Update`."""

    optimizer: str
    scaler: str
    puts_aside: bool = False
    """As apex: gradients that aren't scaled are put aside meanwhile."""


class Update(Event):
    """`scaler.update()`: from here on, the scale may be another."""

    scaler: str
    checks: bool = False
    """It is refused where nothing was unscaled or stepped since the last one."""


class Clip(Event):
    """Gradients were clipped, or, where nothing `changes`, their norm was taken."""

    cells: CellNames
    changes: bool = True
    unit: str | None = None
    """The GradScaler whose scale is in the limit, too, or is taken out of the norm."""


class Schedule(Event):
    """A learning-rate scheduler of this optimizer moved on."""

    scheduler: str
    optimizer: str
    moves: int = 1
    """How often a framework moves it for each step."""


class Sync(Event):
    """Ranks averaged what these cells hold."""

    cells: CellNames


# Spends and clears --------------------------------------------------------------------------


class Step(Event):
    """An optimizer updated parameters from their cells (None: from all that it owns)."""

    optimizer: str
    cells: CellNames | None = None
    scaler: str | None = None
    moved: CellNames = NO_CELLS
    """Cells seen to move although they hold no deposit of this window."""
    non_finite: CellNames = NO_CELLS
    vanished: CellNames = NO_CELLS
    """Low-precision cells whose sum was seen to be more than 1 % off."""
    within: bool = False
    """An update inside a call of `step()` that goes on (LBFGS): the call counts once."""
    unreduced: CellNames = NO_CELLS
    """Cells that the step could not spend: their deposits wait, not yet reduced over the ranks,
    where no optimizer looks (FSDP2 without gradient sync)."""

    @property
    def left_to_others(self) -> bool:
        """Whether it spends nothing by design: others step its parameters inside the backward."""
        return self.cells is not None and not self.cells and not self.unreduced


class Skipped(Event):
    """A step was called and did not happen: an overflow, or torch refused the call."""

    optimizer: str
    scaler: str | None = None
    reason: Literal["overflow", "refused"] = "overflow"


class Clear(Event):
    """Cells were emptied, to None or to zeros."""

    cells: CellNames
    to_none: bool = True


# Graphs -------------------------------------------------------------------------------------


class Keep(Event):
    """A tensor was put with its graph where it outlasts the iteration: summed, stored, carried."""

    what: Literal["loss", "state"]
    walked: bool = False
    """An earlier backward has walked it already."""
    unwalked: bool = False
    """No backward will ever walk it: it is there for its value alone."""
    holder: str = ""
    """The variable that it was put into."""
    graphs: int = 0
    """Of how many iterations that variable holds graphs, where somebody has counted."""
    age: int = 0
    """Steps since the oldest of them."""
    died_at: Place | None = None
    """Where the program then ran out of memory."""


class Release(Event):
    """What was kept at `kept` was detached, overwritten or dropped."""

    kept: Place


# The run ------------------------------------------------------------------------------------


class Batch(Event):
    """The loop goes on to other data."""

    cells: CellNames | None = None
    """What is trained in that loop (None: all), where several are running."""


class Fault(Event):
    """An exception broke off an iteration, and the code goes on."""

    cells: CellNames | None = None
    """As in `Batch`."""


class Compare(Event):
    """The parameters were compared between ranks."""

    cells: CellNames
    equal: bool


class EpochEnd(Event):
    """The loop over the data ended.

    `restarts`: the counter that closes windows starts again. False: it runs on, so that windows
    straddle epochs and no law is broken. None: not known; the next window tells.
    """

    restarts: bool | None = None
    cells: CellNames | None = None
    """As in `Batch`."""


class RunEnd(Event):
    """The program ended, by itself or by an exception."""

    crashed: bool = False

"""Measures for each step: gradient norm, loss, learning rate, and how far it moves parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import hypot
from typing import NamedTuple

import torch
from torch import Tensor
from torch.optim import Optimizer

from gradledger.ledger.events import Backward, Clear, Edit, Event, Gone, Skipped, Step
from gradledger.ledger.findings import Finding
from gradledger.runtime.gradients.gradient_units import Units
from gradledger.runtime.gradients.scalers import Scalers
from gradledger.runtime.journal.cells import grad_of
from gradledger.runtime.journal.crash_guard import unfailing
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.optimizers.optimizers import Optimizers, RunningStep
from gradledger.runtime.outputs.loss_values import LossValues, learning_rate
from gradledger.runtime.outputs.parameter_moves import Before, Move, ratio
from gradledger.runtime.program.objects import attributes, is_a
from gradledger.runtime.tensors.deferred_reads import Readings
from gradledger.runtime.tensors.norms import norms

LOSS, RATE, NORM, RATIO = "loss", "learning rate", "gradient norm", "update ratio"

EACH_NORM = 512
"""Steps up to which the norm of each parameter is told; then of every 2nd, of every 4th, …"""
EACH_RATIO = 64
"""The same for update ratios."""


class Measured(NamedTuple):
    """A number of one step of an optimizer, and on some steps the same number of each parameter."""

    name: str
    optimizer: str
    step: int
    """How many steps of this optimizer there were, this one included."""
    event: int
    """How many events there were, the step's own included."""
    total: float | None
    """None where a part of it can't be known."""
    cells: Mapping[str, float]


class Amounts(NamedTuple):
    """Norms of gradients, still to be read."""

    slots: Sequence[int]
    norms: Tensor


class Spend:
    """What a step is about to do."""

    def __init__(self) -> None:
        self.slots: list[int] = []
        """The cells that it spends from."""
        self.amounts: list[tuple[Amounts, set[int] | None]] = []
        """Norms, and of which slots they are wanted; None: of all."""
        self.before: list[Before] = []
        self.rate: Tensor | float | None = None

    def norms(self, numbers: list[list[float]]) -> dict[int, float]:
        """By slot, now that they were read."""
        found: dict[int, float] = {}
        for (amounts, wanted), read in zip(self.amounts, numbers, strict=True):
            pairs = zip(amounts.slots, read, strict=True)
            found |= pairs if wanted is None else ((s, norm) for s, norm in pairs if s in wanted)
        return found


class Measuring:
    """Tells the norm of what each step spends, and on some steps how far it moves parameters.

    Norms are unscaled, and from before clipping: taken at the first clip after the latest deposit,
    and where there is none, right before the step.
    """

    def __init__(
        self,
        journal: Journal,
        optimizers: Optimizers,
        scalers: Scalers,
        measured: Sequence[Callable[[Measured], None]],
    ) -> None:
        self.journal = journal
        self._measured = measured
        """Told of each measure."""
        self._optimizers = optimizers
        self._units = Units(journal, scalers)
        self.losses = LossValues(journal, scalers)
        self._readings = Readings()
        self._events = 0
        self._steps: Counter[str] = Counter()
        self._spends: dict[str, Spend] = {}
        self._clipped: dict[int, Amounts] = {}
        """By slot, what was there before it was clipped, as long as nothing comes to it."""
        journal.heard.append(self._hear)
        optimizers.begins.append(self._begins)

    @unfailing
    def finish(self) -> None:
        """Tell what devices still work on."""
        self._readings.finish()

    # Before

    @unfailing
    def clips(self, leaves: Sequence[Tensor]) -> None:
        """These are about to be clipped."""
        if _is_captured():
            return
        slots, grads = _present(list(map(self.journal.cells.slot, leaves)), leaves)
        # What an earlier clip has changed counts as it was before that one.
        new = [i for i, slot in enumerate(slots) if slot not in self._clipped]
        for amounts in self._unscaled([slots[i] for i in new], [grads[i] for i in new]):
            self._clipped.update(dict.fromkeys(amounts.slots, amounts))

    @unfailing
    def _begins(self, step: RunningStep) -> None:
        """A step is about to spend what is in its cells."""
        if _is_captured():
            return
        known = step.known
        leaves = [leaf for group in step.optimizer.param_groups for leaf in group["params"]]
        same = len(known.slots) == len(leaves)
        slot_of = self.journal.cells.slot
        slots, grads = _present(known.slots if same else list(map(slot_of, leaves)), leaves)
        spend = self._spends[known.name] = Spend()
        spend.slots += slots
        spend.rate = learning_rate(step.optimizer)
        if is_due(self._steps[known.name] + 1, EACH_RATIO):
            spend.before.append(self._before(slots))
        if self._clipped:
            slots, grads = self._from_before_clips(spend, slots, grads)
        if step.work.scaler is None:
            amounts = self._unscaled(slots, grads)
        else:
            # In the scaler's own step they are unscaled, or the optimizer does that as it steps.
            scale = attributes(step.optimizer).get("grad_scale")
            amounts = _amounts(slots, grads, scale if is_a(scale, Tensor) else 1.0)
        spend.amounts += ((each, None) for each in amounts)

    def spends(
        self, name: str, optimizer: Optimizer, grads: Mapping[Tensor, Tensor], factor: float
    ) -> None:
        """An optimizer is about to spend these, times a factor, and perhaps others, too."""
        if _is_captured():
            return
        slots = [slot for leaf in grads if (slot := self.journal.cells.slot(leaf)) is not None]
        assert len(slots) == len(grads), "only of cells that have been met"
        spend = self._spends.get(name)
        if spend is None or not set(spend.slots).isdisjoint(slots):
            # Who tells of a cell a second time did not finish what the first was for.
            spend = self._spends[name] = Spend()
        spend.slots += slots
        spend.rate = learning_rate(optimizer)
        if is_due(self._steps[name] + 1, EACH_RATIO):
            spend.before.append(self._before(slots))
        amounts = _amounts(slots, list(grads.values()), 1 / factor)
        spend.amounts += ((each, None) for each in amounts)

    def _unscaled(self, slots: list[int], grads: list[Tensor]) -> Iterator[Amounts]:
        for alike, scale in self._units.of(slots):
            if len(alike) < len(slots):
                by_slot = dict(zip(slots, grads, strict=True))
                yield from _amounts(alike, [by_slot[slot] for slot in alike], scale)
            else:
                yield from _amounts(slots, grads, scale)

    def _from_before_clips(
        self, spend: Spend, slots: list[int], grads: list[Tensor]
    ) -> tuple[list[int], list[Tensor]]:
        """Take what was clipped as it was before that; what is left."""
        wanted: dict[int, tuple[Amounts, set[int]]] = {}
        rest: list[int] = []
        for i, slot in enumerate(slots):
            amounts = self._clipped.get(slot)
            if amounts is None:
                rest.append(i)
            else:
                wanted.setdefault(id(amounts), (amounts, set()))[1].add(slot)
        spend.amounts += wanted.values()
        return [slots[i] for i in rest], [grads[i] for i in rest]

    def _before(self, slots: Sequence[int]) -> Before:
        return Before(self._leaves(slots))

    def _leaves(self, slots: Sequence[int]) -> dict[int, Tensor]:
        leaf_of = self.journal.cells.leaf
        return {slot: leaf for slot in slots if (leaf := leaf_of(slot)) is not None}

    # After

    @unfailing
    def _hear(self, event: Event, findings: tuple[Finding, ...]) -> None:
        self._events += 1
        match event:
            case Step():
                self._stepped(event.optimizer)
            case Skipped():
                self._spends.pop(event.optimizer, None)
            case Clear() | Gone():
                self.losses.emptied(event)
            case Backward():
                self.losses.deposited(event)
        match event:
            case Backward() | Clear() | Gone() | Edit(kind="assign") if self._clipped:
                names = self.journal.cells.names
                for slot in [slot for slot in self._clipped if names[slot] in event.cells]:
                    del self._clipped[slot]

    def _stepped(self, optimizer: str) -> None:
        self._steps[optimizer] += 1
        spend = self._spends.pop(optimizer, None)
        if spend is None or not spend.slots:
            return
        step, event, names = self._steps[optimizer], self._events, self.journal.cells.names
        # Their names now: when the numbers arrive, others may have their slots.
        each_norm = is_due(step, EACH_NORM)
        called = {slot: names[slot] for slot in spend.slots} if each_norm or spend.before else {}

        def tell(name: str, total: float | None, each: Mapping[int, float]) -> None:
            cells = {called[slot]: value for slot, value in each.items()}
            if total is None and not cells:
                return
            told = Measured(name, optimizer, step, event, total, cells)
            for hear in self._measured:
                hear(told)

        def tell_number(name: str, numbers: list[list[float]]) -> None:
            tell(name, numbers[0][0], {})

        def tell_norms(numbers: list[list[float]]) -> None:
            each = spend.norms(numbers)
            total = hypot(*each.values()) if len(each) == len(spend.slots) else None
            tell(NORM, total, each if each_norm else {})

        def tell_moves(numbers: list[list[float]]) -> None:
            moves: dict[int, Move] = {}
            for (sample, _), read in zip(moved, numbers, strict=True):
                moves |= sample.as_moves(read)
            each = {slot: of for slot, move in moves.items() if (of := ratio([move])) is not None}
            tell(RATIO, ratio(moves.values()), each)

        self._readings.read([amounts.norms for amounts, _ in spend.amounts], tell_norms)
        cells = frozenset(names[slot] for slot in spend.slots)
        for told, value in ((LOSS, self.losses.spent(optimizer, cells)), (RATE, spend.rate)):
            if isinstance(value, Tensor):
                self._readings.read([value.reshape(1)], partial(tell_number, told))
            elif value is not None:
                tell(told, value, {})
        if spend.before:
            leaves = self._leaves(spend.slots)
            moved = [found for before in spend.before for found in before.moves(leaves)]
            self._readings.read([sums for _, sums in moved], tell_moves)


def is_due(step: int, all_up_to: int) -> bool:
    """Each step up to there, every 2nd up to twice as far, every 4th up to 4 times, and so on."""
    octaves = ((step - 1) // all_up_to).bit_length()
    return step % (1 << octaves) == 0


def _present(
    slots: Sequence[int | None], leaves: Iterable[Tensor]
) -> tuple[list[int], list[Tensor]]:
    """Those that are in the books and hold a gradient, each once."""
    found: dict[int | None, Tensor | None] = dict(zip(slots, map(grad_of, leaves), strict=True))
    found.pop(None, None)
    if type(None) in set(map(type, found.values())):
        found = {slot: grad for slot, grad in found.items() if grad is not None}
    return list(found), list(found.values())  # type: ignore[arg-type]


def _amounts(
    slots: Sequence[int], grads: list[Tensor], divisor: Tensor | float
) -> Iterator[Amounts]:
    for which, found in norms(grads):
        if isinstance(divisor, Tensor):
            found = found / divisor.to(found.device, non_blocking=True)
        elif divisor != 1.0:
            found = found / divisor
        yield Amounts(slots if isinstance(which, range) else [slots[i] for i in which], found)


def _is_captured() -> bool:
    """What runs now is recorded by CUDA, to be run again without us."""
    started: bool = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return started and torch.cuda.is_current_stream_capturing()

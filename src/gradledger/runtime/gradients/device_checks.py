"""Gradients on other devices: looked at when they are spent or dropped, and told of later.

On the CPU, NaN and Inf are looked for after each backward. Elsewhere that would wait for the
device.
"""

from __future__ import annotations

from torch import Tensor

from gradledger.ledger.events import CellNames, Clear, Event, Step
from gradledger.ledger.page import Page
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.runtime.journal.cells import grad_of
from gradledger.runtime.journal.crash_guard import unfailing
from gradledger.runtime.journal.device_queries import Answer
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.journal.patches import Patches
from gradledger.runtime.optimizers.optimizers import Optimizers, RunningStep
from gradledger.runtime.program.objects import attributes
from gradledger.runtime.tensors.devices import here
from gradledger.runtime.tensors.finiteness import spoilt

Flags = tuple[list[str], Tensor]
"""The names of cells, and for each on the device whether it holds a NaN or an Inf."""


class DeviceChecks:
    """Finds GL901 and GL201 where they can't be judged when they happen."""

    def __init__(self, journal: Journal, optimizers: Optimizers) -> None:
        self.journal = journal
        self._optimizers = optimizers
        self._begun = False
        self._flags: dict[str, list[Flags]] = {}
        """By the optimizer whose step is about to spend them."""

    def watch(self, patches: Patches) -> None:
        """Nothing is done until a leaf is met that is not here."""
        self.journal.met.append(self._met)

    @unfailing
    def _met(self, slots: list[int]) -> None:
        leaves = map(self.journal.cells.leaf, slots)
        if not self._begun and any(leaf is not None and not here(leaf) for leaf in leaves):
            self._begun = True
            self._optimizers.begins.append(self._begins)
            self._optimizers.stepped.append(self._stepped)
            self.journal.call_before((Step,), self._foresee)

    # Spent

    @unfailing
    def _begins(self, step: RunningStep) -> None:
        # A scaler has looked itself where it says so, and the optimizer holds back.
        if attributes(step.optimizer).get("found_inf") is None:
            cells = self.journal.cells
            leaves = [leaf for slot in step.known.slots if (leaf := cells.leaf(slot)) is not None]
            self._flags[step.known.name] = self._look(leaves)

    def _foresee(self, event: Event) -> None:
        if type(event) is Step:
            for names, flags in self._flags.pop(event.optimizer, ()):
                self.journal.later.ask(flags, self._spent(names, self.journal.book.page, event))

    def _spent(self, names: list[str], page: Page, step: Step) -> Answer:
        def answer(numbers: list[float]) -> None:
            bad = _named(names, numbers)
            if bad:
                self.journal.judge_late(page, replace(step, non_finite=bad), "GL901")

        return answer

    @unfailing
    def _stepped(self, step: RunningStep) -> None:
        self.journal.later.send()

    # Dropped

    def dropped(self, leaves: list[Tensor], at: Place) -> bool:
        """Whether it can't be known yet if the gradients of these, which are cleared, are finite.

        If they are, they were lost.
        """
        page, flags = self.journal.book.page, self._look(leaves)
        for names, each in flags:
            self.journal.later.ask(each, self._lost(names, page, at))
        return bool(flags)

    def _lost(self, names: list[str], page: Page, at: Place) -> Answer:
        def answer(numbers: list[float]) -> None:
            if not _named(names, numbers):
                self.journal.judge_late(page, Clear(at, frozenset(names)), "GL201")

        return answer

    def _look(self, leaves: list[Tensor]) -> list[Flags]:
        """For each device; none for what is here, or nowhere."""
        cells = self.journal.cells
        found: dict[object, tuple[list[str], list[Tensor]]] = {}
        for leaf in leaves:
            grad, slot = grad_of(leaf), cells.slot(leaf)
            if slot is None or grad is None or here(grad) or grad.is_meta:
                continue
            names, grads = found.setdefault(grad.device, ([], []))
            names.append(cells.names[slot])
            grads.append(grad)
        return [(names, spoilt(grads)) for names, grads in found.values()]


def _named(names: list[str], numbers: list[float]) -> CellNames:
    return frozenset(name for name, number in zip(names, numbers, strict=True) if number)

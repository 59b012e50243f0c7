"""Watches optimizers: when they are made, and steps that really happened."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from torch import Tensor
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook

from gradledger.ledger.events import NO_CELLS, CellNames, Edit, Own, Read, Skipped, Step
from gradledger.ledger.page import Page
from gradledger.ledger.places import Place
from gradledger.runtime.backward.backwards import Backwards
from gradledger.runtime.journal.cells import grad_of
from gradledger.runtime.journal.crash_guard import survive, unfailing
from gradledger.runtime.journal.journal import Journal, Work
from gradledger.runtime.journal.patches import Function, Patches
from gradledger.runtime.optimizers.low_precision import Precision
from gradledger.runtime.optimizers.rebuilt_models import RebuiltModels
from gradledger.runtime.optimizers.undeposited_parameters import UndepositedParameters
from gradledger.runtime.program.objects import attributes, is_a
from gradledger.runtime.program.variables import spelled
from gradledger.runtime.tensors.devices import here
from gradledger.runtime.tensors.torch_names import compiler, needed
from gradledger.runtime.tensors.weak_references import TensorRef

_attributes: Callable[[Optimizer], dict[str, Any]] = vars(Optimizer)["__dict__"].__get__
"""Those of the object itself, whatever a subclass says. Called in every step."""


class Known:
    """An optimizer that is in the books."""

    def __init__(self, optimizer: Optimizer, name: str) -> None:
        self.ref = weakref.ref(optimizer)
        self.name = name
        self.spelled: str | None = None
        """What the program calls it."""
        self.signature: list[tuple[int, int]] = []
        """Identity and length of the list in each of its param groups."""
        self.slots: tuple[int, ...] = ()
        self.cells: CellNames = NO_CELLS
        self.lets_go = False
        """It has held cells that it does not hold any more."""
        self.trainable: list[bool] = []
        self.deposits: CellNames | None = None
        """What the backward before its latest step put something into."""
        self.fields: tuple[object, ...] = (None,)
        self.event: Step
        """Its latest step, and what that was made of."""
        self.idle_on: Page | None = None
        """The latest page on which all its cells were found to be busy."""


class RunningStep:
    """One call of `step`, which may evaluate a closure several times."""

    # What is the same for most calls is in the class: one is made in every step.

    evaluations = 0
    holds_another = False
    """Another optimizer stepped inside: that one did the work (a wrapper, SAM, Lookahead)."""
    idle: dict[str, Tensor] | None = None
    """What parameters looked like that have no deposit and may be moved all the same."""

    def __init__(self, known: Known, optimizer: Optimizer, at: Place, work: Work) -> None:
        self.known = known
        self.optimizer = optimizer
        self.at = at
        self.work = work
        """Of the thread that it runs in."""


class Optimizers:
    """Writes `Own` and `Step`."""

    def __init__(self, journal: Journal, backwards: Backwards, precision: Precision) -> None:
        self.journal = journal
        self.backwards = backwards
        self.precision = precision
        self.idle = UndepositedParameters(journal)
        self._rebuilt = RebuiltModels(journal)
        self.steps = 0
        self.stepped: list[Callable[[RunningStep], None]] = []
        """Told of each step that happened."""
        self.named: list[Callable[[str, str], None]] = []
        """Told what the program calls an optimizer, scaler or scheduler, once that is known."""
        self.begins: list[Callable[[RunningStep], None]] = []
        """Told of each step that is about to spend what is in its cells."""
        self.called: dict[str, str] = {}
        """What the program calls its scalers and schedulers; empty where that can't be told."""
        self._known: dict[int, Known] = {}
        self._making: set[int] = set()
        self.stand_ins: weakref.WeakKeyDictionary[Optimizer, list[TensorRef]]
        self.stand_ins = weakref.WeakKeyDictionary()
        """Of optimizers that hold something made of parameters: those parameters (ZeRO)."""
        self._in_passes: dict[int, str] = {}
        """By slot, the optimizer that a hook has step while a pass is still running."""

    def watch(self, patches: Patches) -> None:
        """Audit all optimizers until the patches are closed."""
        patches.around(Optimizer, "__init__", self._around_init)
        patches.around(Optimizer, "add_param_group", self._around_add_param_group)
        patches.callback(register_optimizer_step_pre_hook(self._before_step).remove)
        needed(Optimizer, "_optimizer_step_code")
        patches.around(Optimizer, "_optimizer_step_code", self._around_end)
        self.journal.buried.append(self._forget)

    def _forget(self, slots: list[int]) -> None:
        for slot in slots:
            self._in_passes.pop(slot, None)

    # Who they are

    def at_hand(self, optimizer: Optimizer) -> Known | None:
        """The optimizer's entry, if it has one, as of its latest step."""
        known = self._known.get(id(optimizer))
        return known if known is not None and known.ref() is optimizer else None

    def known(self, optimizer: Optimizer, made_at: Place | None = None) -> Known:
        """The optimizer's entry, up to date with its param groups."""
        known = self._known.get(id(optimizer))
        if known is None or known.ref() is not optimizer:
            name = self.journal.roles.name("optimizer", optimizer, made_at)
            # Who had that name before is gone.
            self._known = {key: one for key, one in self._known.items() if one.name != name}
            known = self._known[id(optimizer)] = Known(optimizer, name)
        signature = _lists(optimizer)
        if signature != known.signature:
            known.signature = signature
            with self.journal.entering:
                at = made_at or self.journal.arrive()
                brought = self._own(known, optimizer, at)
                if made_at is None and brought:
                    # An audit of one cell of a notebook begins in the middle of a training. What
                    # these hold may be spent, or be dropped without a word.
                    self.journal.post(Edit(at, brought, "assign"))
                    self.journal.post(Read(at, brought))
        return known

    def _own(self, known: Known, optimizer: Optimizer, at: Place) -> CellNames:
        """Tell which cells it owns; those of them that are new, and hold a gradient already."""
        cells, held = self.journal.cells, list(parameters(optimizer))
        if (stands_for := self.stand_ins.get(optimizer)) is not None:
            held = [leaf for ref in stands_for if (leaf := ref()) is not None]
        new = [p for p in held if cells.slot(p) is None and grad_of(p) is not None]
        self.journal.meet(held, at)
        slots = (cells.slot(parameter) for parameter in held)
        known.slots = tuple(dict.fromkeys(slot for slot in slots if slot is not None))
        before, known.cells = known.cells, cells.names_of(known.slots)
        known.lets_go = known.lets_go or not before <= known.cells
        self.journal.own(known.slots)
        known.trainable = []
        self.journal.post(self.journal.made(Own, at, known.name, known.cells))
        brought = (cells.slot(parameter) for parameter in new)
        return cells.names_of(tuple(slot for slot in brought if slot is not None))

    def _around_init(self, real: Function) -> Function:
        def init(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
            self._making.add(id(optimizer))
            try:
                real(optimizer, *args, **kwargs)
            finally:
                self._making.discard(id(optimizer))
            if not self.journal.asleep:
                self._made(optimizer)

        return init

    @unfailing
    def _made(self, optimizer: Optimizer) -> None:
        self.known(optimizer, self.journal.arrive(outside=optimizer))

    def _around_add_param_group(self, real: Function) -> Function:
        def add_param_group(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
            real(optimizer, *args, **kwargs)
            if id(optimizer) not in self._making and not self.journal.asleep:
                self._grown(optimizer)

        return add_param_group

    @unfailing
    def _grown(self, optimizer: Optimizer) -> None:
        self.known(optimizer)

    def spell(self, known: Known, optimizer: Optimizer) -> None:
        """Find out what the program, as it runs now, calls it."""
        known.spelled = spelled(optimizer, self.journal.places.frames(sys._getframe()))
        if known.spelled:
            for hear in self.named:
                hear(known.name, known.spelled)

    @unfailing
    def call(self, name: str, player: object) -> None:
        """Find out the same of a scaler or a scheduler, when it is first met."""
        self.called[name] = called = spelled(player, self.journal.places.frames(sys._getframe()))
        if called:
            for hear in self.named:
                hear(name, called)

    @property
    def spelled(self) -> dict[str, str]:
        """What the program calls each optimizer that has stepped, each scaler and scheduler."""
        others = {name: called for name, called in self.called.items() if called}
        optimizers = {known.name: known.spelled for known in self._known.values() if known.spelled}
        return others | optimizers

    # Stepping

    def _before_step(
        self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        journal = self.journal
        if journal.asleep or compiler._is_compiling_flag or (work := journal.thread.work).hushed:
            return None
        try:
            # Behind torch's wrapper round each `step`.
            frame = sys._getframe(1).f_back
            at = journal.arrive() if frame is None else journal.arrive_at(frame)
            step = self._begun(optimizer, at, work)
            # The hook's first argument is the optimizer itself; a closure may be the second.
            if len(args) > 1 and callable(args[1]):
                return (args[0], self._evaluated(args[1], step), *args[2:]), kwargs
            if kwargs and callable(kwargs.get("closure")):
                return args, kwargs | {"closure": self._evaluated(kwargs["closure"], step)}
            if self.begins:
                for hear in self.begins:
                    hear(step)
        except Exception as error:
            survive(journal, error)
        return None

    def _begun(self, optimizer: Optimizer, at: Place, work: Work) -> RunningStep:
        if work.depth:
            self.backwards.tell_so_far()
        known = self._known.get(id(optimizer))
        if known is None or known.ref() is not optimizer or known.signature != _lists(optimizer):
            known = self.known(optimizer)
        if known.spelled is None:
            self.spell(known, optimizer)
        step, backwards = RunningStep(known, optimizer, at, work), self.backwards
        if backwards.walks.threaded or self.journal.left_open:
            self.journal.concerns(known.slots, at)
        if known.deposits is not backwards.latest:
            # Who freezes a parameter, or thaws it, changes what a backward reaches.
            known.deposits = backwards.latest
            self._declare(known, at)
            self._rebuilt.look(known.cells, backwards.latest, at)
        if known.idle_on is not (page := self.journal.book.page):
            if self.idle.of(known.name):
                self._look_at_idle(step)
            else:
                known.idle_on = page
        work.stepping.append(step)
        return step

    def _evaluated(self, closure: Function, step: RunningStep) -> Function:
        """The closure, with a `Step` for the evaluation before it: that one has just been used."""

        def evaluate() -> Any:
            self._between(step)
            with self.journal.script_at_work():
                loss = closure()
            if self.idle.of(step.known.name):
                self._look_at_idle(step)
            for hear in self.begins:
                hear(step)
            return loss

        return evaluate

    @unfailing
    def _between(self, step: RunningStep) -> None:
        if step.evaluations:
            self.write(step, within=True)
        step.evaluations += 1

    def _around_end(self, real: Function) -> Function:
        """Torch calls this behind each step, before the hooks that the program has put there: what
        they clear is spent by then."""
        journal, after = self.journal, self._after_step

        def _optimizer_step_code(self: Optimizer) -> None:  # its profiler looks for a `self`
            real(self)
            if journal.asleep:
                journal.sleeper(self)
            else:
                after(self)

        return _optimizer_step_code

    def _after_step(self, optimizer: Optimizer) -> None:
        if compiler._is_compiling_flag:
            return
        try:
            step = self._popped(optimizer)
            if step is not None and not step.holds_another:
                self.write(step)
        except Exception as error:
            survive(self.journal, error)

    def _popped(self, optimizer: Optimizer) -> RunningStep | None:
        """The call of its `step` that ends now."""
        stack: list[RunningStep] = self.journal.thread.work.stepping
        while stack:
            step = stack.pop()
            if step.optimizer is optimizer:
                if stack and _steps_for_all_ranks(stack[-1].optimizer):
                    return None
                if stack:
                    stack[-1].holds_another = True
                return step
            # One that raised has left its entry behind.
        return None

    def write(self, step: RunningStep, *, within: bool = False) -> None:
        """A step has happened; `within`: inside a call that goes on."""
        optimizer = step.optimizer
        found_inf = _attributes(optimizer).get("found_inf")
        if found_inf is not None and is_a(found_inf, Tensor):
            # A fused optimizer is called even on an overflow, and holds back by itself.
            if not here(found_inf):
                self.journal.later.ask(found_inf.detach().reshape(-1)[:1].clone(), self._held_back)
            elif found_inf.item():
                return
        journal, known, work = self.journal, step.known, step.work
        moved = self.idle.moved(step.idle, known.slots) if step.idle else NO_CELLS
        vanished = self.precision.vanished(known.slots) if self.precision.follows else NO_CELLS
        self.steps += 1
        work.steps += 1
        spent = known.cells if known.lets_go else None
        if work.depth and self.backwards.in_pass:
            self._in_passes |= dict.fromkeys(known.slots, known.name)
        elif self._in_passes and self._leaves_it_to_others(known):
            spent = NO_CELLS
        unreduced = NO_CELLS
        if self.backwards.shards.present:
            unreduced = self.backwards.shards.unreduced(known.slots)
            spent = known.cells - unreduced if unreduced else spent
        fields = (
            step.at, known.name, spent, work.scaler, moved, NO_CELLS, vanished, within, unreduced,
        )  # fmt: skip
        if fields != known.fields:
            known.fields, known.event = fields, journal.made(Step, *fields)
        backwards = self.backwards
        if (backwards.unweighed.why or backwards.unknown.sites) and not journal.asleep:
            backwards.unweighed.spends(known.event, journal.book.page)
            backwards.unknown.spends(known.event)
        journal.post(known.event)
        self.backwards.stepped(known.slots)
        if self.stepped:
            for hear in self.stepped:
                hear(step)

    def _held_back(self, found: list[float]) -> None:
        if any(found):
            self.journal.not_seen("steps", "the device told too late that they were skipped")

    def _leaves_it_to_others(self, known: Known) -> bool:
        """Whether all it holds is stepped by other optimizers, in hooks of the backward, which have
        left it nothing: its own step does nothing by design."""
        others = map(self._in_passes.get, known.slots)
        if not all(other is not None and other != known.name for other in others):
            return False
        return self.journal.cells.empty(known.slots)

    @unfailing
    def skipped(self, at: Place, optimizer: Optimizer, scaler: str, reason: str) -> None:
        """A scaler did not let it step."""
        name = self.known(optimizer).name
        self.journal.post(self.journal.made(Skipped, at, name, scaler, reason))

    # Parameters that get no deposit

    def _declare(self, known: Known, at: Place) -> None:
        """Tell of parameters that were frozen or unfrozen."""
        leaf = self.journal.cells.leaf
        now = [p is not None and p.requires_grad for p in map(leaf, known.slots)]
        if now != known.trainable:
            known.trainable = now
            self.journal.declare(at, known.slots)

    @unfailing
    def _look_at_idle(self, step: RunningStep) -> None:
        step.idle = self.idle.look(step.known.name, step.known.slots)


def _lists(optimizer: Optimizer) -> list[tuple[int, int]]:
    return [(id(held := group["params"]), len(held)) for group in optimizer.param_groups]


def parameters(optimizer: Optimizer) -> Iterator[Tensor]:
    """The parameters in its param groups."""
    return (p for group in optimizer.param_groups for p in group["params"])


def _steps_for_all_ranks(optimizer: Optimizer) -> bool:
    """Whether the optimizer inside steps this rank's part only; other ranks send the rest."""
    kind = getattr(sys.modules.get("torch.distributed.optim"), "ZeroRedundancyOptimizer", None)
    return kind is not None and isinstance(optimizer, kind)


def inner(optimizer: Any) -> Optimizer:
    """The optimizer itself, where a framework has wrapped it."""
    while is_a(wrapped := _wrapped(attributes(optimizer)), Optimizer):
        optimizer = wrapped
    real: Optimizer = optimizer
    return real


def _wrapped(kept: dict[str, Any]) -> object:
    """What a wrapper keeps the optimizer in. Fabric's is one without parameters of its own."""
    if "optimizer" in kept or "param_groups" in kept:
        return kept.get("optimizer")
    return kept.get("_optimizer")

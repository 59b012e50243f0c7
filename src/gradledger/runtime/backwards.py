"""Watches backward passes: what each really put into which cells."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch.compiler import is_compiling

from gradledger.ledger.events import NO_CELLS, Backward, CellNames, Clear, Read
from gradledger.ledger.places import Place
from gradledger.runtime import weights
from gradledger.runtime.cells import Slots, State
from gradledger.runtime.finiteness import all_finite, finite
from gradledger.runtime.graphs import leaves, nodes, tensors
from gradledger.runtime.journal import Journal
from gradledger.runtime.kept import Kept
from gradledger.runtime.patches import Function, Patches
from gradledger.runtime.replicas import Replicas
from gradledger.runtime.sites import Site
from gradledger.runtime.unfailing import survive, unfailing
from gradledger.runtime.weights import Loss

_GIVEN = (Tensor, list, tuple)
_OF_TENSORS = Tensor.backward.__code__


class Pass:
    """One backward pass, from its call to its end."""

    __slots__ = (
        "create", "loss", "number", "partial", "retain", "roots", "site", "told", "walked",
    )  # fmt: skip

    def __init__(
        self, site: Site, roots: list[Tensor], loss: Loss, *, retain: bool, create: bool
    ) -> None:
        self.site = site
        self.roots = roots
        self.loss = loss
        self.retain = retain
        self.create = create
        """Gradients get a graph of their own, and each deposit a new tensor."""
        self.partial = True
        """Until it has ended well."""
        self.walked = site.walked
        self.number = 0
        """Of the last node of its graph: later nodes have higher ones."""
        self.told = False
        """A part of what it deposited was told already, because a hook spent that."""


class Backwards:
    """Writes a `Backward` for each pass, with the cells that it put something into."""

    def __init__(self, journal: Journal, kept: Kept, replicas: Replicas) -> None:
        self.journal = journal
        self.kept = kept
        self.replicas = replicas
        self.weighs_all = False
        """The weight of each deposit matters: a scaler may be in it, or it is recorded."""
        self.framework: Callable[[Loss], Loss] | None = None
        """What a framework, whose own `backward` is running, makes of a loss."""
        self.accumulated: list[Callable[[Pass, Slots], None]] = []
        """Told of each deposit of a site whose windows have several."""
        self.passes = 0
        self.latest: CellNames = NO_CELLS
        """What the latest pass put something into."""
        self.looked_closely: list[Callable[[FrameType], None]] = []
        """Told of the passes that are looked at closely: the first ones, and ever fewer."""
        self._sites: dict[int, Site] = {}
        """By the identity of their places."""
        self._bad: set[int] = set()
        """Slots that hold a NaN or an Inf."""
        self._running: dict[int, Pass] = {}
        """The pass of each thread that is in one."""
        self._threads: set[int] = set()

    def watch(self, patches: Patches) -> None:
        """Audit every backward pass until the patches are closed."""
        patches.everywhere(torch.autograd, {"backward": self._around})
        self.journal.buried.append(self.cleared)

    def _around(self, real: Function) -> Function:
        journal = self.journal

        def backward(tensors_: Any, *args: Any, **kwargs: Any) -> None:
            if (
                journal.asleep
                or is_compiling()
                or (work := journal.thread.work).depth
                or work.hushed
            ):
                # Depth: a checkpoint's own pass, inside another one.
                real(tensors_, *args, **kwargs)
                return
            if not isinstance(tensors_, _GIVEN):
                tensors_ = list(tensors_)
            thread = threading.get_ident()
            try:
                with journal.entering:  # nobody else looks at cells while this one gets its own
                    this = self._prepare(sys._getframe(1), thread, tensors_, args, kwargs)
            except Exception as error:
                survive(journal, error)
                real(tensors_, *args, **kwargs)
                return
            self._running[thread] = this
            work.depth += 1
            try:
                real(tensors_, *args, **kwargs)
                this.partial = False
                self.kept.ended[thread] = this.number
            except RuntimeError as error:
                self._refused(this, error)
                raise
            finally:
                work.depth -= 1
                del self._running[thread]
                try:
                    with journal.entering:
                        self._tell(this)
                except Exception as error:
                    survive(journal, error)
                this.roots.clear()

        return backward

    # Before

    def _prepare(
        self,
        frame: FrameType,
        thread: int,
        tensors_: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Pass:
        # What most programs call is only a door to what is patched.
        # Nobody calls it where it is all that a thread does.
        caller = (frame.f_back or frame) if frame.f_code is _OF_TENSORS else frame
        at = self.journal.arrive(caller)
        site = self._sites.get(id(at))
        if site is None:
            site = self._sites[id(at)] = Site(at)
        site.new_pass(self.kept.windows)
        self.passes += 1
        roots = [tensors_] if isinstance(tensors_, Tensor) else list(tensors(tensors_))
        retain, create = _keeps(args, kwargs)
        weighs = site.weighs or self.weighs_all or self.framework is not None
        loss = self._weigh(roots) if weighs and len(roots) == 1 else site.unread
        this = Pass(site, roots, loss, retain=retain, create=create)
        self._threads.add(thread)
        if site.passes >= site.next_walk or len(self._threads) > 1:
            site.walks_now(retain=retain)
            for look in self.looked_closely:
                look(frame)
            self._walk(this, at)
        if roots and (root := roots[0].grad_fn) is not None:
            this.number = self.kept.begin(site, root)
        return this

    def _weigh(self, roots: list[Tensor]) -> Loss:
        loss = weights.read(roots[0])
        return loss if self.framework is None else self.framework(loss)

    def _walk(self, this: Pass, at: Place) -> None:
        """Look at the whole graph: the leaves that it ends in, and graphs from before."""
        graph = nodes(this.roots)
        ends = leaves(this.roots, graph)
        self.journal.meet(ends, at)
        slot, owned = self.journal.cells.slot, self.journal.owned
        this.site.reaches_inputs = any(
            not isinstance(leaf, nn.Parameter) and slot(leaf) not in owned for leaf in ends
        )
        this.walked = self.kept.walk(this.site, graph, retain=this.retain)

    # After

    @unfailing
    def _refused(self, this: Pass, error: RuntimeError) -> None:
        this.walked |= self.kept.refused(error, this.roots)

    @unfailing
    def tell_so_far(self) -> None:
        """A hook of the pass that is running is about to use what arrived so far."""
        running = self._running.get(threading.get_ident())
        if running is not None:
            running.partial = False
            self._tell(running)
            running.partial = running.told = True

    def _tell(self, this: Pass) -> None:
        journal, cells, site = self.journal, self.journal.cells, this.site
        grads, now = cells.survey()
        slots, names = cells.changed(now)
        before = cells.seen
        if any(before):
            slots, names = self._only_deposits(slots, names, before, now, this)
        cells.seen = now
        if this.told and not slots:
            return
        self.latest = names
        deposited: Any = grads if len(slots) == len(grads) else [grads[slot] for slot in slots]
        bad = NO_CELLS if all_finite(deposited) else self._non_finite(slots, grads)
        journal.post(self._event(this, names, bad))
        if site.accumulates:
            for hear in self.accumulated:
                hear(this, slots)
        if self.replicas.pending:
            self.replicas.after(site.at, names, partial=this.partial)
        if site.reaches_inputs and names:
            # A pass that also reaches an input may be made for that input's gradient.
            journal.post(journal.made(Read, site.at, names))

    def _event(self, this: Pass, names: CellNames, bad: CellNames) -> Backward:
        site, loss, local = this.site, this.loss, bool(self.replicas.pending)
        scaler = loss.scaler and loss.scaler.get(self.journal.number)
        fields = names, loss.weight, scaler, bad, this.partial, local, this.retain, this.walked
        # The same fields as last time are quicker to know again than to look up.
        if fields != site.fields:
            site.fields = fields
            site.event = self.journal.made(Backward, site.at, *fields)
        return site.event

    def _only_deposits(
        self, slots: Slots, names: CellNames, before: list[State], now: list[State], this: Pass
    ) -> tuple[Slots, CellNames]:
        """Tell the clears that nobody saw: a gradient that is another tensor was cleared first."""
        cells = self.journal.cells
        cleared, deposits = [], []
        for slot in slots:
            old, new = before[slot], now[slot]
            if old is not None and (new is None or (new[0] != old[0] and not this.create)):
                cleared.append(slot)
                self._bad.discard(slot)
            if new is not None:
                deposits.append(slot)
        if cleared:
            lost = frozenset(cells.names[slot] for slot in cleared)
            self.journal.post(Clear(this.site.at, lost))
        if len(deposits) == len(slots):
            return slots, names
        return tuple(deposits), frozenset(cells.names[slot] for slot in deposits)

    def _non_finite(self, slots: Slots, grads: list[Tensor | None]) -> CellNames:
        """The cells that this pass brought a NaN or an Inf into."""
        bad = {slot for slot in slots if (grad := grads[slot]) is not None and not finite(grad)}
        new = bad - self._bad
        self._bad |= bad
        return frozenset(self.journal.cells.names[slot] for slot in new)

    def cleared(self, slots: Iterable[int]) -> None:
        """These cells hold nothing any more."""
        if self._bad:
            self._bad.difference_update(slots)

    def stepped(self) -> None:
        """An optimizer has stepped: windows begin anew."""
        self.kept.windows += 1


def _keeps(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bool, bool]:
    """Does the call keep its graph, and does it make one of the gradients?"""
    if len(args) == 3 and "retain_graph" not in kwargs:  # as `Tensor.backward` calls it
        _, retain, create = args
        return bool(create if retain is None else retain), bool(create)
    given = dict(zip(("grad_tensors", "retain_graph", "create_graph"), args, strict=False)) | kwargs
    retain, create = given.get("retain_graph"), bool(given.get("create_graph", False))
    return create if retain is None else bool(retain), create

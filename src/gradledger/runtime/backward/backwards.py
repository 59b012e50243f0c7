"""Watches backward passes: what each really put into which cells."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import Node

from gradledger.ledger.events import (
    NO_CELLS,
    UNKNOWN_WEIGHT,
    Backward,
    Batch,
    CellNames,
    Clear,
    Read,
    Walk,
)
from gradledger.ledger.places import Place
from gradledger.runtime.backward.call_sites import CLOSELY, LONG, Site
from gradledger.runtime.backward.kept_graphs import KeptGraphs
from gradledger.runtime.backward.moved_gradients import MovedGradients
from gradledger.runtime.backward.running_passes import (
    NO_SLOTS,
    UNWATCHED,
    RunningPass,
    RunningPasses,
)
from gradledger.runtime.backward.unknown_batches import UnknownBatches
from gradledger.runtime.backward.window_batches import Batches
from gradledger.runtime.batches.data_origins import are_alike, are_batches, go_on, origin
from gradledger.runtime.distributed.fsdp2 import FullySharded
from gradledger.runtime.distributed.replicas import Replicas
from gradledger.runtime.journal.cells import WAITS, Slots, State
from gradledger.runtime.journal.crash_guard import survive, unfailing
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.journal.patches import Function, Patches
from gradledger.runtime.losses import weights
from gradledger.runtime.losses.trainer_losses import TrainerLosses
from gradledger.runtime.losses.unknown_weights import (
    FIRST,
    HOOKED,
    NO_BATCHES,
    SEVERAL,
    TAKEN_OVER,
    UNCLEAR,
    UnknownWeights,
)
from gradledger.runtime.losses.weights import Loss
from gradledger.runtime.tensors.finiteness import all_finite, finite
from gradledger.runtime.tensors.graphs import are_hooked, leaves, nodes, number_of, tensors, terms
from gradledger.runtime.tensors.torch_names import compiler

UNREAD = Loss(UNKNOWN_WEIGHT)
SEVERAL_LOSSES = Loss(UNKNOWN_WEIGHT, why=SEVERAL)
_GIVEN = (Tensor, list, tuple)
_OF_TENSORS = Tensor.backward.__code__


class Pass(RunningPass):
    """One backward pass, from its call to its end."""

    partial = True
    """Until it has ended well."""
    number = 0
    """Of the last node of its graph: later nodes have higher ones."""
    told = False
    """A part of what it deposited was told already, because a hook spent that."""

    def __init__(
        self,
        site: Site,
        roots: list[Tensor],
        inputs: object,
        loss: Loss,
        retain: bool,
        create: bool,
    ) -> None:
        # Not by way of `super()`, which is another call in every step.
        self.roots = roots
        self.inputs = inputs
        self.site = site
        self.loss = loss
        self.retain = retain
        self.create = create
        """Gradients get a graph of their own, and each deposit a new tensor."""
        self.walked = site.walked


class Backwards:
    """Writes a `Backward` for each pass, with the cells that it put something into."""

    def __init__(self, journal: Journal, kept: KeptGraphs, replicas: Replicas) -> None:
        self.journal = journal
        self.kept = kept
        self.replicas = replicas
        self.weighs_all = False
        """The weight of each deposit matters: a scaler may be in it, or it is recorded."""
        self.framework: Callable[[Loss], Loss] | None = None
        """What a framework, whose own `backward` is running, makes of a loss."""
        self.told_of_data = False
        """Some loader has been drawn from."""
        self.without_data = False
        """The loader has ended: which batch a loss is of is unknown until another begins."""
        self.accumulated: list[Callable[[Pass, Slots], None]] = []
        """Told of each deposit of a site whose windows have several."""
        self.passes = 0
        self.latest: CellNames = NO_CELLS
        """What the latest pass put something into."""
        self.began: list[Callable[[Sequence[Tensor], object], None]] = []
        """Told of each pass: from which tensors it goes back, and with which gradients given."""
        self.looked_closely: list[Callable[[FrameType], None]] = []
        """Told of the passes that are looked at closely: the first ones, and ever fewer."""
        self._sites: dict[int, Site] = {}
        """By the identity of their places."""
        self._bad: set[int] = set()
        """Slots that hold a NaN or an Inf."""
        self._differentiated = False
        """Gradients were taken that went into no cell."""
        self.walks = RunningPasses(journal.cells)
        self._frameworks = TrainerLosses(journal)
        self.shards = FullySharded(journal)
        self.moved = MovedGradients(journal)
        self.unweighed = UnknownWeights(journal)
        self.unknown = UnknownBatches(journal, self.unweighed)
        self.batches = Batches(journal, self.unknown, lambda: self.training[1])

    def watch(self, patches: Patches) -> None:
        """Audit every backward pass until the patches are closed."""
        wrappers = {"backward": self._around, "grad": self._around_grad}
        patches.everywhere(torch.autograd, wrappers)
        self.journal.buried.append(self.cleared)
        self.journal.buried.append(self.walks.forget)
        self.journal.let_go.append(self._forget_data)
        self.walks.owners = self.shards.owners
        self.shards.watch(patches)

    def _around(self, real: Function) -> Function:
        journal, running, get_ident = self.journal, self.walks.running, threading.get_ident

        def backward(tensors_: Any, *args: Any, **kwargs: Any) -> None:
            thread = get_ident()
            if journal.asleep:
                # All that has to be known when auditing goes on.
                inside = thread in running
                if not inside:
                    running[thread] = UNWATCHED
                try:
                    real(tensors_, *args, **kwargs)
                finally:
                    if not inside:
                        running.pop(thread, None)
                return
            if compiler._is_compiling_flag:
                real(tensors_, *args, **kwargs)
                return
            if not isinstance(tensors_, _GIVEN):
                tensors_ = list(tensors_)
            if (work := journal.thread.work).depth or work.hushed:
                inside = bool(self._aside(thread, tensors_, kwargs.get("inputs")))
                try:
                    real(tensors_, *args, **kwargs)
                finally:
                    if not inside:
                        running.pop(thread, None)
                return
            try:
                with journal.entering:  # no other thread looks at cells meanwhile
                    this = self._prepare(sys._getframe(1), thread, tensors_, args, kwargs)
            except Exception as error:
                survive(journal, error)
                real(tensors_, *args, **kwargs)
                return
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
                try:
                    with journal.entering:
                        try:
                            self._tell(this)
                        finally:
                            del running[thread]
                except Exception as error:
                    survive(journal, error)
                this.roots.clear()

        return backward

    @unfailing
    def _aside(self, thread: int, given: Any, inputs: object) -> bool:
        """A pass begins that isn't reported: a Stepper's, or inside another of its own thread (a
        checkpoint's). Is it one inside another?"""
        walks = self.walks
        outer = walks.running.get(thread)
        if outer is not None:
            walks.inside(outer, list(tensors(given)))
        else:
            walks.enters(thread)
            walks.begin(thread, RunningPass(list(tensors(given)), inputs))
        return outer is not None

    def _around_grad(self, real: Function) -> Function:
        journal = self.journal

        def grad(outputs: Any, *args: Any, **kwargs: Any) -> Any:
            if compiler._is_compiling_flag:  # it is traced, and nothing is computed
                return real(outputs, *args, **kwargs)
            if not self.in_pass:  # else it recomputes a part of the graph
                self._differentiated = True
            page = journal.book.page
            if page.retained - page.rewalked and not journal.asleep:
                self._walks(sys._getframe(1), outputs)
            return real(outputs, *args, **kwargs)

        return grad

    @unfailing
    def _walks(self, frame: FrameType, outputs: object) -> None:
        """Gradients that go nowhere are made of a graph, which may be one that was retained."""
        walks = self.kept.walked_by(list(tensors(outputs)))
        if walks:
            self.journal.post(self.journal.made(Walk, self.journal.arrive(frame), walks))

    def begin_without_graph(self, frame: FrameType, parameters: list[Tensor]) -> Pass:
        """Torch is about to put into these what is no backward pass of its own."""
        self.journal.meet(parameters, self.journal.arrive_at(frame))
        return self._prepare(frame, threading.get_ident(), [], (), {"inputs": parameters})

    def end_without_graph(self, this: Pass) -> None:
        """It has."""
        self._tell(this)
        self.walks.running.pop(threading.get_ident(), None)

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
        # Skipped where only one thread makes passes.
        journal, kept = self.journal, self.kept
        caller = (frame.f_back or frame) if frame.f_code is _OF_TENSORS else frame
        at, made = journal.arrive_at(caller), None
        if self._frameworks.there:
            at, made = self._frameworks.making(at, caller)
        site = self._sites.get(id(at))
        if site is None:
            site = self._sites[id(at)] = Site(at)
        site.new_pass(kept.windows)
        self.passes += 1
        roots = [tensors_] if isinstance(tensors_, Tensor) else list(tensors(tensors_))
        if len(args) == 3 and "retain_graph" not in kwargs:  # as `Tensor.backward` calls it
            given, retain, create = args
            if retain is None:
                retain = create
        else:
            given, retain, create = _given(args, kwargs)
        weighs = site.weighs or self.weighs_all or self.framework is not None
        if len(roots) != 1:
            loss = SEVERAL_LOSSES
        else:
            loss = self._weigh(roots, given) if weighs else UNREAD
        if made is not None:
            loss = self._frameworks.weighed(loss, made, at)
            kept.keeper = made.step.keeper
            if made.step.drawn_ahead:
                site.batch, site.each_is_a_batch = journal.made(Batch, at, None), True
        for begins in self.began:
            begins(roots, given)
        this = Pass(site, roots, kwargs.get("inputs"), loss, bool(retain), bool(create))
        walks = self.walks
        if thread not in walks.threads:
            walks.enters(thread)
        if site.passes >= site.next_walk or walks.shared:
            site.walks_now(retain=retain)
            for look in self.looked_closely:
                look(frame)
            self._walk(this, at, frame)
        if roots and (root := roots[0].grad_fn) is not None:
            if site.passes >= site.next_count:
                kept.begin(site, root, retain=this.retain)
            this.number = number_of(root)
        kept.keeper = None
        if self.told_of_data:
            node = roots[0].grad_fn if roots else None
            self.batches.begins(site, node, cut=self.without_data)
        elif site.batch is not None and site.goes_on:
            journal.enter(site.batch)
        if walks.shared:
            walks.begin(thread, this)
        else:
            walks.running[thread] = this
        if walks.threaded or journal.left_open:
            journal.concerns(walks.reach(this) - walks.elsewhere(), at)
        if any(journal.cells.seen):
            self._tell_emptied(this)
        if self.shards.present:
            self.shards.begin()
            if self.shards.taken:
                self.shards.deposits |= walks.reach(this) & self.shards.taken
        return this

    def _tell_emptied(self, this: Pass) -> None:
        """Report unseen clears. What the pass puts there may look just like the old."""
        journal = self.journal
        only = this.reach - self.walks.elsewhere() if self.walks.shared and this.reach else None
        if emptied := journal.cells.emptied(only):
            self.cleared(emptied)
            names = frozenset(journal.cells.names[slot] for slot in emptied)
            journal.post(Clear(this.site.at, names))

    def _weigh(self, roots: list[Tensor], given: object) -> Loss:
        if isinstance(given, list | tuple) and len(given) == 1:
            given = given[0]
        loss = weights.read(roots[0], given)
        return loss if self.framework is None else self.framework(loss)

    def _walk(self, this: Pass, at: Place, frame: FrameType) -> None:
        """Look at the whole graph: the leaves that it ends in, and graphs from before."""
        graph = nodes(this.roots)
        slot, owned = self.journal.cells.slot, self.journal.owned
        ends = self.shards.owners(leaves(this.roots, graph))
        added = [term for root in this.roots for term in terms(root)]
        if added:
            useless = {id(term) for term in added if slot(term) not in owned}
            ends = [e for e in ends if isinstance(e, nn.Parameter) or id(e) not in useless]
        self.journal.meet(ends, at)
        this.site.reaches_inputs = any(
            not isinstance(leaf, nn.Parameter) and slot(leaf) not in owned for leaf in ends
        )
        this.site.hooked = any(map(are_hooked, ends))
        this.walked = self.kept.walk(this.site, graph, retain=this.retain)
        if this.inputs is None:
            this.reach = self.walks.met(ends)
        if not self.walks.shared and not this.site.each_is_a_batch:
            self._compare(this.site, graph, frame)
        this.site.unweighed = this.site.hooked or this.site.unclear

    def _compare(self, site: Site, graph: Iterable[Node], frame: FrameType) -> None:
        """Is this pass of another batch than the one before?"""
        before, site.origin = site.origin, None
        counted, site.counts = site.counts, False
        if site.passes > CLOSELY and not counted:  # only of those that follow each other
            return
        places = self.journal.places
        site.origin = now = origin(graph, frame, places)
        if before is None or now is None:
            self.unknown.stay_unknown(site)
            site.unclear |= site.goes_on and site.batch is not None
            site.batch = None
            return
        # A loss that is made of gradients may be a task's of its own, learnt for a moment.
        tasks = self._differentiated or site.reaches_inputs
        may_draw = not (self.told_of_data or tasks)
        may_count = may_draw or (self.batches.drawn.ahead and not tasks)
        if site.goes_on:
            known = are_batches(before, now, frame, places, may_draw=may_draw)
            site.unclear |= site.batch is not None and not known
            site.batch = self.journal.made(Batch, site.at, None) if known else None
            if not known and may_count and site.passes < LONG:
                site.counts = go_on(before, now, frame, places)
            # Where batches are drawn ahead, the search for each pass's own one says what it missed.
            looks = not (tasks or (self.told_of_data and self.batches.drawn.ahead))
            doubtful = site.counts or (looks and are_alike(before, now, frame, places))
            if not known and doubtful:
                self.unknown.sites[site.at] = site
        elif counted and go_on(before, now, frame, places):
            site.batch = self.journal.made(Batch, site.at, None)
            self.unknown.were_batches(site)
        if not site.counts and site.batch is None:
            self.unknown.stay_unknown(site)

    # After

    @unfailing
    def _refused(self, this: Pass, error: RuntimeError) -> None:
        this.walked |= self.kept.refused(error, this.roots)

    @unfailing
    def tell_so_far(self) -> None:
        """A hook of the pass that is running is about to use what arrived so far."""
        running = self.walks.running.get(threading.get_ident())
        if isinstance(running, Pass):
            with self.journal.entering:
                running.partial = False
                self._tell(running, ended=False)
                running.partial = running.told = True

    @property
    def in_pass(self) -> bool:
        """Whether this thread is inside a pass that is told."""
        return isinstance(self.walks.running.get(threading.get_ident()), Pass)

    def _tell(self, this: Pass, *, ended: bool = True) -> None:
        journal, cells, site = self.journal, self.journal.cells, this.site
        unseen = NO_SLOTS
        if self.walks.shared:
            busy = self.walks.elsewhere()
            reach = None if this.nested else this.reach
            grads, now = cells.survey_but(busy, reach)
            if reach is not None and ended and not this.partial:
                unseen = busy & reach
        else:
            grads, now = cells.survey()
        slots, names = cells.changed(now)
        before, cells.seen = cells.seen, now
        if sharded := self.shards.present:
            slots = self.shards.deposited(slots)
            names = cells.names_of(slots)
        if any(before):
            slots, names = self._only_deposits(slots, names, before, now, this)
        if unseen:
            # Another thread is writing there, too: that this pass did, only its graph can tell.
            names |= {cells.names[slot] for slot in unseen}
        if this.told and not names:
            return
        if this.reach and ended and not (this.partial or this.told or sharded or self.walks.shared):
            self.moved.after(this.reach, now)
        self.latest = names
        if not names and site.fills:
            site.next_walk = site.passes + 1  # it may have filled leaves that are unknown so far
        site.fills = bool(names)
        deposited: Any = grads if len(slots) == len(grads) else [grads[slot] for slot in slots]
        if sharded:  # all of one may lie on other ranks
            deposited = [grad for grad in deposited if grad is not None]
        bad = NO_CELLS if all_finite(deposited) else self._non_finite(slots, grads)
        journal.enter(self._event(this, names, bad))
        if sharded:
            self.shards.after(site.at, slots, partial=this.partial)
        if site.accumulates:
            for hear in self.accumulated:
                hear(this, slots)
        if self.replicas.pending:
            self.replicas.after(site.at, names, partial=this.partial)
        if site.reaches_inputs and names:
            # A pass that also reaches an input may be made for that input's gradient.
            journal.post(journal.made(Read, site.at, names))

    def _event(self, this: Pass, names: CellNames, bad: CellNames) -> Backward:
        site, loss = this.site, this.loss
        local = bool(self.replicas.pending) or self.shards.exchanges
        scaler = loss.scaler and loss.scaler.get(self.journal.number)
        # Gradients with a graph of their own need this one, too: it is not kept needlessly.
        retain = this.retain and not this.create
        weight, why = loss.weight, loss.why
        if site.unweighed:
            weight, why = UNKNOWN_WEIGHT, HOOKED if site.hooked else UNCLEAR
        elif self.without_data and site.draw is None:
            weight, why = UNKNOWN_WEIGHT, NO_BATCHES
        elif self.shards.taken and self.framework is None:
            weight, why = UNKNOWN_WEIGHT, TAKEN_OVER
        if site.accumulates and (why or site.began_late):
            self.unweighed.why[site.at] = why or FIRST
        fields = (
            names, weight, scaler, bad, this.partial, local, retain, this.walked, this.told,
        )  # fmt: skip
        # The same fields as last time are quicker to know again than to look up.
        if fields != site.fields:
            site.fields = fields
            site.event = self.journal.made(Backward, site.at, *fields)
        return site.event

    def _only_deposits(
        self, slots: Slots, names: CellNames, before: list[State], now: list[State], this: Pass
    ) -> tuple[Slots, CellNames]:
        """Report unseen clears: a gradient that is another tensor was cleared first."""
        cells = self.journal.cells
        cleared, deposits = [], []
        for slot in slots:
            old, new = before[slot], now[slot]
            moved = old is not None and new is not None and new[0] != old[0] != WAITS
            if old is not None and (new is None or (moved and not this.create)):
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

    @property
    def training(self) -> tuple[int, CellNames | None]:
        """What this thread has a part in: the passes for it so far, and its cells (None: all)."""
        walks = self.walks
        reads_ahead = not (threading.get_ident() in walks.threads or self.journal.work.steps)
        if reads_ahead and walks.threads:
            # For other threads, which are at other batches by now: at which ones is unknown.
            return 0, NO_CELLS
        passes, cells = walks.together
        return (self.passes, None) if cells is None else (passes, cells)

    def _forget_data(self) -> None:
        for site in self._sites.values():
            site.origin = None

    @unfailing
    def end(self, error: BaseException | None, at: Place) -> None:
        """The run has ended, perhaps of this."""
        self.unknown.end()
        self.kept.end(list(self._sites.values()), error, at)

    def stepped(self, slots: Slots) -> None:
        """An optimizer of these has stepped: windows begin anew."""
        self.kept.windows += 1
        if self.moved.left_empty:
            self.moved.stepped(slots)
        if self.walks.shared:
            self.walks.trains(threading.get_ident(), slots)


def _given(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[object, bool, bool]:
    """What the call begins with; whether it keeps its graph, and makes one of the gradients."""
    given = dict(zip(("grad_tensors", "retain_graph", "create_graph"), args, strict=False)) | kwargs
    retain, create = given.get("retain_graph"), bool(given.get("create_graph", False))
    return given.get("grad_tensors"), create if retain is None else bool(retain), create

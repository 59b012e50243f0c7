"""Watches replicas: what is averaged over the ranks, by DDP or by hand, and whether they agree."""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.compiler import is_compiling
from torch.nn.parallel import DistributedDataParallel

from gradledger.ledger.events import CellNames, Edit, Event, Sync
from gradledger.ledger.places import Place
from gradledger.rules.ranks import Fingerprints
from gradledger.runtime.distributed.local_sgd import LocalSGD
from gradledger.runtime.journal.crash_guard import unfailing
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.journal.patches import Function, Patches
from gradledger.runtime.program.objects import attributes, parameters_in
from gradledger.runtime.tensors.devices import here
from gradledger.runtime.tensors.dtensors import local_part
from gradledger.runtime.tensors.graphs import tensors
from gradledger.runtime.tensors.weak_references import TensorRef

if TYPE_CHECKING:
    from gradledger.runtime.optimizers.optimizers import RunningStep

MAKE_ALIKE = ("all_reduce", "all_reduce_coalesced", "broadcast")
"""Functions after which a tensor is the same on all ranks."""
EXCHANGE = (
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_single",
    "all_to_all",
    "all_to_all_single",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
)
"""Functions that tell other ranks something, or are told."""


SAMPLED = 4096
"""Elements of a parameter on a device that its fingerprint is made of."""
LARGEST = 16_769_023
"""A prime below 2 ** 24, up to where floats are exact."""
_AS_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.int64}


class Replicas:
    """Writes `Sync`, and takes fingerprints that ranks can compare without a word."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.pending: list[bool] = []
        """For each forward since the latest backward: will that average over the ranks?"""
        self.taken: Fingerprints = []
        self._replicated: list[TensorRef] = []
        self._steps = 0
        self.found: list[Callable[[], None]] = []
        """Told when there are replicas."""
        self.printed: list[Callable[[Place, int, Mapping[str, int]], None]] = []
        """Told of each fingerprint: where, after which step, what each parameter looked like."""

        self._exchanged = False
        """The ranks have told each other something since the latest backward."""
        self._own = False
        """What the latest backward deposited is this rank's own."""
        self._together = LocalSGD(journal)

    def watch(self, patches: Patches) -> None:
        """Audit all replicas until the patches are closed."""
        self._patches = patches
        patches.around(DistributedDataParallel, "forward", self._around_forward)

    def _around_forward(self, real: Function) -> Function:
        def forward(module: Any, *args: Any, **kwargs: Any) -> Any:
            result = real(module, *args, **kwargs)
            if torch.is_grad_enabled() and not is_compiling() and not self.journal.asleep:
                # The forward decides whether the backward will average.
                self.pending.append(bool(module.require_backward_grad_sync))
                if not self._replicated:
                    self._begin(module)
                self._goes_on()
            return result

        return forward

    @unfailing
    def _begin(self, module: DistributedDataParallel) -> None:
        """There are replicas."""
        parameters = [parameter for _, parameter in parameters_in(module)]
        self._replicated = [TensorRef(parameter) for parameter in parameters]
        self.journal.let_go.append(self._replicated.clear)
        # A hook may average over some ranks only, until parameters are averaged over all.
        hooked = bool(attributes(module).get("_comm_hooks"))
        self._together.begin(parameters, apart=hooked)
        for begin in self.found:
            begin()
        self.journal.heard.append(self._heard)
        from torch.distributed import distributed_c10d  # some builds of torch have none

        wrappers = dict.fromkeys(EXCHANGE, self._around_exchange)
        wrappers |= dict.fromkeys(MAKE_ALIKE, self._around_making_alike)
        there = {name: wrap for name, wrap in wrappers.items() if hasattr(distributed_c10d, name)}
        self._patches.everywhere(distributed_c10d, there)

    # What the program averages itself

    def _around_exchange(self, real: Function) -> Function:
        def exchange(*args: Any, **kwargs: Any) -> Any:
            self._exchanged = True
            self._exchanges()
            return real(*args, **kwargs)

        return exchange

    def _around_making_alike(self, real: Function) -> Function:
        journal = self.journal

        def make_alike(*args: Any, **kwargs: Any) -> Any:
            self._exchanged = True
            self._exchanges()
            work = journal.thread.work
            if journal.asleep or is_compiling() or work.depth or work.hushed:
                return real(*args, **kwargs)
            at = self._arrived()
            result = real(*args, **kwargs)
            if at is not None:
                self._made_alike(at, [*tensors(list(args)), *tensors(kwargs)])
            return result

        return make_alike

    @unfailing
    def _exchanges(self) -> None:
        if not self.journal.asleep and not self.journal.work.depth:
            self._together.exchanges()

    @unfailing
    def _goes_on(self) -> None:
        self._together.goes_on()

    @unfailing
    def _arrived(self) -> Place:
        return self.journal.arrive()

    @unfailing
    def _made_alike(self, at: Place, given: list[Tensor]) -> None:
        journal, cells = self.journal, self.journal.cells
        with journal.entering:
            if slots := cells.sharing(given):
                for slot, state in zip(slots, cells.states(slots), strict=True):
                    cells.seen[slot] = state
                self._own = False
                journal.post(journal.made(Sync, at, cells.names_of(slots)))

    def _heard(self, event: Event, findings: object) -> None:
        """What is written into gradients after an exchange is what all ranks have agreed on.

        To multiply one's own is no such thing.
        """
        if self._exchanged and isinstance(event, Edit) and event.kind != "scale":
            self._own = False
            self.journal.post(self.journal.made(Sync, event.at, event.cells))

    # What DDP averages

    def after(self, at: Place, cells: CellNames, *, partial: bool) -> None:
        """A backward has run."""
        self._exchanged = False
        averages = any(self.pending)
        self.pending.clear()
        self._own = not averages
        self._together.deposits(own=self._own)
        if averages and not partial:
            self.journal.post(self.journal.made(Sync, at, cells))

    def stepped(self, step: RunningStep) -> None:
        """An optimizer has stepped: at first always, then ever more rarely, take fingerprints."""
        self._steps += 1
        if self._own:
            self._own = False
            self._together.steps_alone()
        if self._together.held and not self._together.waits:
            self._release()
        if self._steps <= 4 or not self._steps & (self._steps - 1):
            cells = self.journal.cells
            prints: dict[str, int] = {}
            elsewhere: dict[str, Tensor] = {}
            for parameter in (ref() for ref in self._replicated):
                slot = None if parameter is None else cells.slot(parameter)
                if parameter is not None and slot is not None:
                    if here(parameter):
                        prints[cells.names[slot]] = fingerprint(parameter)
                    elif not parameter.is_meta:
                        elsewhere[cells.names[slot]] = device_fingerprint(parameter)
            if elsewhere:
                self._take_later(step.at, self._steps, elsewhere)
            elif self._together.apart and self._together.waits:
                self._together.held.append((step.at, self._steps, prints))
            else:
                self._taken(step.at, self._steps, prints)

    def _take_later(self, at: Place, step: int, prints: dict[str, Tensor]) -> None:
        if self._together.apart and self._together.waits:
            return  # whether they count isn't known when they arrive
        names = list(prints)

        def answer(numbers: list[float]) -> None:
            self._taken(at, step, dict(zip(names, map(int, numbers), strict=True)))

        self.journal.later.ask(torch.stack(list(prints.values())), answer)

    def _taken(self, at: Place, step: int, prints: Mapping[str, int]) -> None:
        self.taken.append((at, step, prints))
        for hear in self.printed:
            hear(at, step, prints)

    @unfailing
    def end(self) -> None:
        """The run ends: what was held back until it is known whether the ranks were brought
        together is told now, if they were not."""
        self._together.end()
        self._release()

    def _release(self) -> None:
        for at, step, prints in self._together.held:
            self._taken(at, step, prints)
        self._together.held.clear()


def device_fingerprint(tensor: Tensor) -> Tensor:
    """A number for the bits of a sample, which stays on the device; exact in 32-bit floats."""
    with torch.no_grad():
        flat = local_part(tensor).detach().reshape(-1)
        sample = flat[:: 1 + flat.numel() // SAMPLED]
        bits = sample.contiguous().view(_AS_BITS[sample.element_size()]).to(torch.int64)
        places = torch.arange(1, bits.numel() + 1, device=bits.device)
        return (bits * places).sum().remainder(LARGEST).float()


def fingerprint(tensor: Tensor) -> int:
    """The same number for the same bits, wherever it is taken."""
    plain = tensor.detach().cpu().contiguous()
    size = plain.numel() * plain.element_size()
    if not size:
        return 0
    # In place: a copy would take as much memory as the parameter.
    return zlib.crc32((ctypes.c_char * size).from_address(plain.data_ptr()))

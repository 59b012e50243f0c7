"""What a loss was computed from: does a call site get different data in each pass?

Where no loader tells of batches, several passes before a step may be micro-batches, or one batch in
several tasks. Micro-batches go through the same operations to the same parameters, with not one
tensor of data in common. That is still no proof, so one of these must hold, too:

- The data are slices of one tensor, along its first dimension, or made of such by the code of the
  loop.
- They come from a list whose items were drawn alike, and the rounds of the loop are alike.
- They have the same shapes, and the rounds of the loop are alike in all else.
- The loop counts on behind the step: it is one over data, and not one over the tasks of a batch.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from operator import attrgetter
from types import FrameType
from typing import NamedTuple

from torch import Tensor, nn
from torch.autograd.graph import Node
from torch.multiprocessing.reductions import StorageWeakRef

from gradledger.runtime.batches.batch_lists import are_cut_by_number, are_drawn_alike
from gradledger.runtime.journal.cells import modules_of
from gradledger.runtime.program.loop_iterations import draw_alike, number_of_round, slice_alike
from gradledger.runtime.program.objects import buffers_in
from gradledger.runtime.program.places import Places
from gradledger.runtime.program.variables import variables
from gradledger.runtime.tensors.graphs import leaf_of
from gradledger.runtime.tensors.saved_tensors import saved
from gradledger.runtime.tensors.torch_names import private
from gradledger.runtime.tensors.weak_references import TensorRef

_base_of: Callable[[Tensor], Tensor | None] = (
    attrgetter("_base")
    if private(Tensor, "_base", None, unseen="slices of a tensor aren't known as micro-batches")
    else lambda tensor: None
)


class Datum(NamedTuple):
    """A tensor without a graph that a node has saved. It is not kept alive."""

    ref: TensorRef
    storage: StorageWeakRef | None
    """None where the memory is not torch's own, and may outlast what torch knows of it."""
    start: int
    version: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    memory: int
    cut: bool
    """Is it cut from another one, along the first dimension?"""


class Origin(NamedTuple):
    """What one pass went through."""

    operations: tuple[type, ...]
    leaves: frozenset[int]
    data: tuple[Datum, ...]
    round: int | None
    """The number of the round of the loop, if that counts."""

    @property
    def rows(self) -> frozenset[int]:
        """How many rows its data have."""
        return frozenset(datum.shape[0] for datum in self.data if datum.shape)


def origin(graph: Iterable[Node], frame: FrameType, places: Places) -> Origin | None:
    """None where that can't be told."""
    leaves, data, operations = set(), [], []
    for node in graph:
        if (leaf := leaf_of(node)) is not None:
            leaves.add(id(leaf))
            continue
        operations.append(type(node))
        try:
            data += [_datum(tensor) for tensor in saved(node)]
        except (RuntimeError, AttributeError):  # freed, changed since, or an older torch
            return None
    if not data:
        return None
    loop = _loop(frame, places)
    number = None if loop is None else number_of_round(*loop)
    return Origin(tuple(operations), frozenset(leaves), tuple(data), number)


def _datum(tensor: Tensor) -> Datum:
    base = _base_of(tensor)
    cut = base is not None and base.shape[1:] == tensor.shape[1:] and base.dim() == tensor.dim()
    storage = tensor.untyped_storage()
    return Datum(
        TensorRef(tensor),
        StorageWeakRef(storage) if storage.resizable() else None,  # type: ignore[no-untyped-call]
        tensor.data_ptr(),
        tensor._version,
        tuple(tensor.shape),
        tensor.stride(),
        storage.data_ptr(),
        cut,
    )


def are_batches(
    before: Origin, now: Origin, frame: FrameType, places: Places, *, may_draw: bool
) -> bool:
    """Are these passes of one window surely of different batches?

    `may_draw`: data may be drawn unseen, for no loader has told of any.
    """
    loop = _loop(frame, places)
    if loop is None or not _are_disjoint(before, now, frame, places):
        return False
    rows, pairs = now.rows, list(zip(before.data, now.data, strict=True))
    if any(new.cut and _are_neighbours(old, new) for old, new in pairs):
        return slice_alike(*loop, rows)
    if are_cut_by_number(loop[0]):  # and noise is added to what was cut, say
        return slice_alike(*loop, rows)
    code = loop[1].f_code
    if are_drawn_alike(loop[0], places.source(code.co_filename).statements_of(code)):
        return slice_alike(*loop, rows)
    if not may_draw or before.round is None or now.round != before.round + 1:
        return False
    if any(old.shape != new.shape for old, new in pairs):
        return False
    return draw_alike(*loop, rows)


def are_alike(before: Origin, now: Origin, frame: FrameType, places: Places) -> bool:
    """Have these passes gone the same way with other data: as micro-batches do, or tasks?"""
    return _are_disjoint(before, now, frame, places)


def go_on(before: Origin, now: Origin, frame: FrameType, places: Places) -> bool:
    """Are these passes alike, of different data, and in rounds of one loop that counts on?

    If a step lies in between, the loop is one over data.
    """
    loop = _loop(frame, places)
    return (
        loop is not None
        and before.round is not None
        and now.round == before.round + 1
        and _are_disjoint(before, now, frame, places)
        and slice_alike(*loop, now.rows)
    )


def _loop(frame: FrameType, places: Places) -> tuple[ast.stmt, FrameType] | None:
    """The loop that the program is in, and where it runs."""
    # Behind a helper that is called from here and there, passes need not be alike.
    users = places.running(frame)
    loop = users and places.source(users.f_code.co_filename).loop_round(users.f_lineno)
    return None if users is None or loop is None else (loop, users)


def _are_disjoint(before: Origin, now: Origin, frame: FrameType, places: Places) -> bool:
    """Have they gone the same way, with no data in common?"""
    if before[:2] != now[:2] or len(before.data) != len(now.data):
        return False
    pairs = zip(before.data, now.data, strict=True)
    same = [new for old, new in pairs if _may_be_same(old, new)]
    return not same or _are_constants(same, frame, places)


def _may_be_same(old: Datum, new: Datum) -> bool:
    if old.storage is not None and old.storage.expired():  # type: ignore[no-untyped-call]
        return False  # another tensor has got its memory
    return (old.start, old.shape, old.strides) == (new.start, new.shape, new.strides) and (
        old.version == new.version
    )


def _are_neighbours(old: Datum, new: Datum) -> bool:
    return old.cut and old.memory == new.memory and old.start != new.start


def _are_constants(data: list[Datum], frame: FrameType, places: Places) -> bool:
    """Are these buffers of the program's modules, or parameters that are frozen?"""
    found: set[int] = set()
    for running in places.frames(frame):
        for name, value in list(variables(running).items()):
            for _, module in modules_of(name, value):
                found.update(buffer.data_ptr() for _, buffer in buffers_in(module))
    return all(isinstance(d.ref(), nn.Parameter) or d.start in found for d in data)

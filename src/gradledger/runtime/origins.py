"""What a loss was computed from: do the passes of a call site go through other data each time?

Where no loader tells of batches, several passes before a step may be micro-batches, or one batch in
several tasks. Micro-batches go through the same operations to the same parameters, with not one
tensor of data in common. That is still no proof, so one of these must hold, too:

- The data are slices of one tensor, along its first dimension.
- They are drawn by hand, in a loop whose rounds do not know which one they are.
"""

from __future__ import annotations

import ast
import re
import weakref
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any, NamedTuple

from torch import Tensor, nn
from torch.autograd.graph import Node

from gradledger.runtime.cells import modules_of
from gradledger.runtime.places import Places
from gradledger.runtime.variables import variables

_DRAWS = re.compile(r"\bnext\(|\w*batch\w*\(|\bget_data\w*\(", re.IGNORECASE)
_TASKS = re.compile(r"task|domain|episode|meta|head", re.IGNORECASE)
_OUTPUTS = re.compile(r"_saved_(result|output)")
"""What a node has made itself: activations, masks of dropout."""
_RAW: dict[type, tuple[str, ...]] = {}
"""For each kind of node, the names of what it saves."""


class Datum(NamedTuple):
    """A tensor without a graph that a node has saved. It is not kept alive."""

    ref: weakref.ref[Tensor]
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


def origin(graph: Iterable[Node]) -> Origin | None:
    """None where that can't be told."""
    leaves, data, operations = set(), [], []
    for node in graph:
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            leaves.add(id(leaf))
            continue
        operations.append(type(node))
        try:
            data += [_datum(saved) for saved in _saved(node)]
        except (RuntimeError, AttributeError):  # freed, changed since, or an older torch
            return None
    return Origin(tuple(operations), frozenset(leaves), tuple(data)) if data else None


def _saved(node: Node) -> Iterator[Tensor]:
    names = _RAW.get(type(node))
    if names is None:
        found = (name for name in dir(node) if name.startswith("_raw_saved_"))
        names = _RAW[type(node)] = tuple(name for name in found if not _OUTPUTS.search(name))
    for name in names:
        given: Any = getattr(node, name)
        for raw in given if isinstance(given, tuple) else (given,):
            # To unpack what a hook has packed may run the program's own code.
            saved = raw.data if raw.unpack_hook is None else None
            if saved is not None and not saved.requires_grad and saved.numel() > 1:
                yield saved


def _datum(tensor: Tensor) -> Datum:
    base = tensor._base
    cut = base is not None and base.shape[1:] == tensor.shape[1:] and base.dim() == tensor.dim()
    return Datum(
        weakref.ref(tensor),
        tensor.data_ptr(),
        tensor._version,
        tuple(tensor.shape),
        tensor.stride(),
        tensor.untyped_storage().data_ptr(),
        cut,
    )


def are_batches(before: Origin, now: Origin, frame: FrameType, places: Places, told: bool) -> bool:
    """Are these passes of one window surely of different batches? `told`: loaders tell of some."""
    if before[:2] != now[:2] or len(before.data) != len(now.data):
        return False
    users = places.running(frame)
    # Behind a helper that is called from here and there, passes need not be alike.
    loop = users and places.source(users.f_code.co_filename).loop_round(users.f_lineno)
    if loop is None:
        return False
    pairs = list(zip(before.data, now.data, strict=True))
    same = [new for old, new in pairs if _may_be_same(old, new)]
    if same and not _are_constants(same, frame, places):
        return False
    if any(new.cut and _are_neighbours(old, new) for old, new in pairs):
        return True
    return not told and _draws_by_hand(loop)


def _may_be_same(old: Datum, new: Datum) -> bool:
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
                found.update(buffer.data_ptr() for buffer in module.buffers())
    return all(isinstance(d.ref(), nn.Parameter) or d.start in found for d in data)


def _draws_by_hand(loop: ast.stmt) -> bool:
    """`for micro in range(n): x, y = get_batch()`: each round is like any other."""
    text = ast.unparse(loop)
    return (
        isinstance(loop, ast.For)
        and isinstance(loop.target, ast.Name)
        and ast.unparse(loop.iter).startswith("range(")
        and bool(_DRAWS.search(text))
        and not _TASKS.search(text)
        and not _chooses(loop, loop.target.id)
    )


def _chooses(loop: ast.For, counter: str) -> bool:
    """Is the number of the round used, other than to ask which one it is?"""
    asked = {
        id(inner)
        for node in ast.walk(loop)
        if isinstance(node, ast.Compare)
        for inner in ast.walk(node)
    }
    return any(
        isinstance(node, ast.Name) and node.id == counter and id(node) not in asked
        for statement in loop.body
        for node in ast.walk(statement)
    )

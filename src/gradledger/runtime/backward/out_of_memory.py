"""A program that ran out of memory: whether it did, and what it held that nothing needed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from types import FrameType

import torch
from torch import Tensor
from torch.autograd.graph import Node

from gradledger.runtime.backward.graph_holders import Grip, Holder, Holders, Survey
from gradledger.runtime.program.places import Places
from gradledger.runtime.tensors.graphs import nodes, number_of
from gradledger.runtime.tensors.torch_names import module, private

_next_number: Callable[[], int] = private(
    module("torch._C._autograd"),
    "_get_sequence_nr",
    lambda: 0,
    unseen="where memory runs out, graphs of many batches that a variable holds aren't found",
)
_SAID = ("out of memory", "not enough memory", "can't allocate memory", "DefaultCPUAllocator")
_ADDING = ("Add", "Sub", "Mul", "Div", "Neg", "ToCopy", "Cat", "Stack", "Sum", "Mean")
MOST_PARTS = 100_000
MOST_MARKS = 8_192
LEAST = 3
"""Batches whose graphs one variable holds, before it is to blame."""


def out_of_memory(error: BaseException) -> bool:
    """Whether a program that died of this error, or of one that caused it, ran out of memory."""
    seen: BaseException | None = error
    for _ in range(10):
        if seen is None:
            return False
        kind = type(seen)
        if kind is MemoryError or kind is torch.OutOfMemoryError:
            return True
        # Nobody else is asked what he says: to make a string of an error may be the user's code.
        said = BaseException.args.__get__(seen)[:1] if kind is RuntimeError else ()  # type: ignore[attr-defined]
        if any(type(text) is str and any(words in text for words in _SAID) for text in said):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def frames_of(error: BaseException, places: Places) -> Iterator[FrameType]:
    """The frames of the user's that an error came through, the innermost first."""
    found = []
    traceback = error.__traceback__
    while traceback is not None:
        if places.is_users(traceback.tb_frame.f_code):
            found.append(traceback.tb_frame)
        traceback = traceback.tb_next
    return reversed(found)


class Batches:
    """When batches were drawn, by the number that autograd gives to the nodes it makes."""

    def __init__(self) -> None:
        self._marks: list[int] = []

    def mark(self) -> None:
        """A batch is drawn."""
        marks = self._marks
        marks.append(_next_number())
        if len(marks) > MOST_MARKS:
            del marks[: MOST_MARKS // 2]  # who kept more than these is found all the same

    def of(self, node: Node) -> int:
        """The batch that a node was made for: 0 where that is long ago, or none was drawn."""
        return bisect_left(self._marks, number_of(node) + 1)


def never_walked(survey: Survey, holders: Holders, batches: Batches) -> Iterator[Grip]:
    """Variables that hold graphs of several batches through modules that are being evaluated.

    A sum of losses may well be walked when it is complete. A module in evaluation mode is not being
    trained, so a graph that ends in nothing else is useless.
    """
    for holder in survey.holders:
        with torch._C.DisableTorchFunctionSubclass():
            drawn = {batches.of(part) for tensor in holder.tensors for part in _parts(tensor)}
            count = len(drawn - {0})
            blamed = count >= LEAST and _only_evaluates(holder, survey)
        if blamed and (place := holders.place(holder)) is not None:
            yield Grip(place, holder.name, count)


def _parts(tensor: Tensor) -> list[Node]:
    """The last nodes of what a tensor was added up or put together from."""
    found: list[Node] = []
    waiting = [tensor.grad_fn]
    met: set[Node | None] = set()
    while waiting and len(met) < MOST_PARTS:
        node = waiting.pop()
        if node is None or node in met or hasattr(node, "variable"):
            continue
        met.add(node)
        if node.name().startswith(_ADDING):
            waiting += [behind for behind, _ in node.next_functions]
        found.append(node)
    return found


def _only_evaluates(holder: Holder, survey: Survey) -> bool:
    ends = [n.variable for n in nodes(holder.tensors[-3:], 20_000) if hasattr(n, "variable")]
    return bool(ends) and all(survey.modes.get(id(end)) is False for end in ends)

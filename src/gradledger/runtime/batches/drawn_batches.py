"""Which drawn batch a backward pass is of: told by the data in its graph.

Who draws several batches before the first backward (a Trainer, `itertools.islice`, a thread that
reads ahead) says nothing by drawing. But a loss keeps some of its batch: labels, token indices, the
inputs of a first layer. A batch is known again by where its tensors lie in memory, and nothing is
kept alive.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from torch import Tensor
from torch.autograd.graph import Node
from torch.multiprocessing.reductions import StorageWeakRef

from gradledger.runtime.tensors.graphs import MOST_NODES
from gradledger.runtime.tensors.saved_tensors import saved_data

MOST_BATCHES = 1024
"""So many of the latest batches are known again."""
MOST_TENSORS = 64
"""Tensors of one batch."""
DEEP = 4
"""Containers in containers."""


class Draw(NamedTuple):
    """Which batch of which iterator."""

    iterator: int
    number: int


class _Place(NamedTuple):
    """Where a tensor of a batch lies."""

    storage: StorageWeakRef
    start: int
    end: int
    draw: Draw


class DrawnBatches:
    """The latest batches that loaders have given out."""

    def __init__(self) -> None:
        self.ahead = False
        """Several batches have been drawn with no backward pass in between."""
        self.told = 0
        """Batches that began when they were drawn, as far as anybody could tell."""
        self.since_pass = 0
        """Batches that were drawn since a backward pass began."""
        self._places: dict[int, list[_Place]] = {}
        """By the address of their memory."""
        self._latest: deque[tuple[int, ...]] = deque()

    def add(self, batch: object, draw: Draw) -> None:
        """A batch was drawn."""
        self.since_pass += 1
        self.ahead = self.ahead or self.since_pass > 1
        memory = []
        for tensor in _tensors(batch):
            storage = tensor.untyped_storage()
            start, size = tensor.data_ptr(), tensor.element_size()
            extent = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
            ref = StorageWeakRef(storage)  # type: ignore[no-untyped-call]
            place = _Place(ref, start, start + (extent + 1) * size, draw)
            key = storage.data_ptr()
            others = [one for one in self._places.get(key, ()) if _alive(one)]
            self._places[key] = [place, *others[: MOST_BATCHES - 1]]
            memory.append(key)
        self._latest.append(tuple(memory))
        if len(self._latest) > MOST_BATCHES:
            self._forget(self._latest.popleft())

    def passes(self) -> None:
        """A backward pass begins."""
        self.since_pass = 0

    def _forget(self, memory: tuple[int, ...]) -> None:
        for key in memory:
            places = self._places.get(key, [])
            if places:
                places.pop()
            if not places:
                self._places.pop(key, None)

    def of(self, root: Node, kinds: set[type], most: int = MOST_NODES) -> Draw | None:
        """The batch that a loss was computed from, if its last nodes have kept some of it.

        `kinds` are the nodes that had it before; they are looked at first.
        """
        found = self._search(root, kinds, most) if kinds else None
        return found or self._search(root, kinds, most, all_kinds=True)

    def _search(
        self, root: Node, kinds: set[type], most: int, *, all_kinds: bool = False
    ) -> Draw | None:
        places = self._places
        seen, waiting = {root}, deque([root])
        while waiting and len(seen) < most:
            node = waiting.popleft()
            if all_kinds or type(node) in kinds:
                for data in saved_data(node):
                    draw = self._find(data) if type(data) is Tensor and places else None
                    if draw is not None:
                        kinds.add(type(node))
                        return draw
            for behind, _ in node.next_functions:
                if behind is not None and behind not in seen:
                    seen.add(behind)
                    waiting.append(behind)
        return None

    def _find(self, data: Tensor) -> Draw | None:
        start = data.data_ptr()
        for place in self._places.get(data.untyped_storage().data_ptr(), ()):
            if place.start <= start < place.end and _alive(place):
                return place.draw
        return None


def _alive(place: _Place) -> bool:
    return not place.storage.expired()  # type: ignore[no-untyped-call]


def _tensors(batch: object) -> list[Tensor]:
    """The plain tensors in a batch, of whatever it is made. No code of its own is run."""
    found: list[Tensor] = []
    waiting: list[tuple[Any, int]] = [(batch, 0)]
    while waiting and len(found) < MOST_TENSORS:
        value, depth = waiting.pop()
        if type(value) is Tensor:
            if value.numel() and value.device.type != "meta" and not value.is_sparse:
                found.append(value)
        elif depth < DEEP:
            waiting += [(part, depth + 1) for part in _parts(value)]
    return found


def _parts(value: object) -> Iterable[object]:
    kind = type(value)
    if kind in (str, bytes, int, float, bool, type(None)):
        return ()
    if issubclass(kind, dict):
        return list(dict.values(value))  # type: ignore[arg-type]
    if issubclass(kind, list):
        return list(_first(list.__iter__(value)))  # type: ignore[arg-type]
    if issubclass(kind, tuple):
        return list(_first(tuple.__iter__(value)))  # type: ignore[arg-type]
    # Objects with attributes: a `BatchEncoding`, a dataclass. Not by asking them.
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return ()
    return list(attributes.values()) if type(attributes) is dict else ()


def _first(parts: Iterator[object]) -> Iterator[object]:
    for _, part in zip(range(MOST_TENSORS), parts, strict=False):
        yield part

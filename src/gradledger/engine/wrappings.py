"""Finds the data loader inside other iterables: in a progress bar, in a zip, …"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from types import GeneratorType
from typing import Any

from torch import Generator, Tensor, nn
from torch.utils.data import DataLoader, Sampler, dataloader


def _base_of_an_iterator() -> type:
    data: Any = [0]
    generator = Generator()  # not the program's random numbers
    return type(iter(DataLoader(data, generator=generator))).__mro__[-2]


_ITERATOR: type = getattr(dataloader, "_BaseDataLoaderIter", None) or _base_of_an_iterator()
"""What all iterators of DataLoaders are."""
_TRANSPARENT = (zip, enumerate, map, filter)
_INSIDE = ("iterable", "loader", "dataloader", "data_loader", "dl", "data", "base_dataloader")
"""What classes that wrap a loader call it: tqdm and its like, prefetchers, movers to a device."""
_SAMPLERS = ("sampler", "batch_sampler", "_index_sampler")
_DEEPEST = 6


def wrapped(data: object) -> list[object]:
    """The data, and whatever can be seen to feed it, from the outside in. Nothing is drawn."""
    found: dict[int, object] = {}
    layer: list[object] = [data]
    for _ in range(_DEEPEST):
        layer = [each for each in layer if id(each) not in found and _feeds(each)]
        found.update((id(each), each) for each in layer)
        layer = list(chain.from_iterable(map(_inside, layer)))
    return list(found.values())


def has_begun(data: object) -> bool:
    """Whether a DataLoader in it has begun its pass, and has drawn from its generator for that."""
    return any(isinstance(each, _ITERATOR) for each in wrapped(data))


def _feeds(value: object) -> bool:
    """Whether it can be something that data is drawn from."""
    if isinstance(value, Tensor | nn.Module | str | bytes | dict | list | tuple | range):
        return False
    return isinstance(value, Iterable | Sampler) or hasattr(value, "generator")


def _inside(value: object) -> Iterator[Any]:
    if isinstance(value, _TRANSPARENT):
        # How to make it again, which names what it was made of.
        made_of: Any = value.__reduce__()
        yield from made_of[1]
    elif isinstance(value, GeneratorType):
        frame = value.gi_frame
        yield from frame.f_locals.values() if frame is not None else ()
    else:
        held = getattr(value, "__dict__", {})
        yield from (held[name] for name in _INSIDE if name in held)
        yield from (getattr(value, name, None) for name in _SAMPLERS)

"""What the nodes of a graph have saved of the data that they were computed from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import Node

from gradledger.runtime.tensors.torch_names import private

with torch.inference_mode(False), torch.enable_grad():
    _leaf = torch.ones(1, device="cpu", requires_grad=True)
    private(
        getattr((_leaf * _leaf).grad_fn, "_raw_saved_self", None),
        "unpack_hook",
        None,
        unseen="where no DataLoader gives out the data, micro-batches aren't recognized",
    )
_OUTPUTS = re.compile(r"_saved_(result|output)")
"""What a node has made itself: activations, masks of dropout."""
_RAW: dict[type, tuple[str, ...]] = {}
"""For each kind of node, the names of what it saves."""


def saved(node: Node) -> Iterator[Tensor]:
    """The tensors without a graph that a node has saved; raises where they are freed."""
    names = _RAW.get(type(node))
    if names is None:
        found = (name for name in dir(node) if name.startswith("_raw_saved_"))
        names = _RAW[type(node)] = tuple(name for name in found if not _OUTPUTS.search(name))
    for name in names:
        given: Any = getattr(node, name)
        for raw in given if isinstance(given, tuple) else (given,):
            # To unpack what a hook has packed may run the program's own code.
            data = raw.data if raw.unpack_hook is None else None
            if data is not None and not data.requires_grad and data.numel() > 1:
                yield data


def saved_data(node: Node) -> list[Tensor]:
    """The same; none where they are freed, were changed since, or torch is too old to tell."""
    try:
        return list(saved(node))
    except (RuntimeError, AttributeError):
        return []

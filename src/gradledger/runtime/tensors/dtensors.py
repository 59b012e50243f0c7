"""`DTensor`: the plain tensor in it that holds this rank's part.

A part is looked at by itself: torch's functions on the whole would make all ranks exchange it.
What is changed through the whole shows in its own version alone; what FSDP2 adds to the part shows
in the part's.
"""

from __future__ import annotations

import sys
from typing import Any

from torch import Tensor, nn

MODULE = "torch.distributed.tensor"
LOCAL = "_local_tensor"
"""The attribute of a DTensor that no public function gives without an entry in the graph."""

_PLAIN = {Tensor, nn.Parameter}


def is_dtensor(tensor: Tensor) -> bool:
    """Whether it is spread over a device mesh."""
    if type(tensor) in _PLAIN:
        return False
    kind: Any = getattr(sys.modules.get(MODULE), "DTensor", None)
    return kind is not None and isinstance(tensor, kind)


def local_part(tensor: Tensor) -> Tensor:
    """This rank's part of a DTensor; any other tensor as it is."""
    if type(tensor) in _PLAIN or not is_dtensor(tensor):
        return tensor
    part: Tensor = getattr(tensor, LOCAL, tensor)
    return part


def version(tensor: Tensor) -> int:
    """Another number after each change in place, of the whole or of the part."""
    part = local_part(tensor)
    return tensor._version if part is tensor else tensor._version + part._version


def has_visible_parts(tensor: Tensor) -> bool:
    """Whether changes of this DTensor's part can be seen with this version of torch."""
    return isinstance(getattr(tensor, LOCAL, None), Tensor)

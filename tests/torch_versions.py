"""What an older torch can't do, so that a test of it is skipped there and says why."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import signature
from typing import Any

import pytest
import torch
from torch import nn, optim
from torch.optim import Optimizer

RELEASE = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])


OLD = RELEASE < (2, 13)
"""Older than the one that constraints.txt pins, where nothing may be missing."""


def made(name: str, parameters: Iterable[nn.Parameter], options: dict[str, Any]) -> Optimizer:
    """An optimizer of torch.optim; skips where an old torch doesn't have it, or an option of it."""
    kind = getattr(optim, name, None)
    if OLD and (kind is None or not options.keys() <= signature(kind).parameters.keys()):
        pytest.skip(f"torch {torch.__version__} has no {name}({', '.join(options)})")
    optimizer: Optimizer = getattr(optim, name)(parameters, **options)
    return optimizer


FSDP2_ON_CPU = hasattr(torch.cpu.Stream, "record_event")
NO_FSDP2 = f"torch {torch.__version__}: FSDP2 needs an accelerator"
NEEDS_FSDP2_ON_CPU = pytest.mark.skipif(not FSDP2_ON_CPU, reason=NO_FSDP2)

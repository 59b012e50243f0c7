"""A step that moves parameters while it looks around, undone where it does not end well (Law 9)."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.optim import Optimizer


class NotFiniteAfterStep(Exception):
    """The step led to parameters that are not finite. They were put back."""


@contextmanager
def restored_on_failure(optimizer: Optimizer) -> Iterator[None]:
    """Puts parameters and state back if the step ends in an exception, or in NaN or Inf."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    values = [p.detach().clone() for p in parameters]
    state = {p: copy.deepcopy(held) for p, held in optimizer.state.items()}
    try:
        yield
        if not all(bool(torch.isfinite(p).all()) for p in parameters):
            raise NotFiniteAfterStep
    except BaseException:
        with torch.no_grad():
            for p, value in zip(parameters, values, strict=True):
                p.copy_(value)
        optimizer.state.clear()
        optimizer.state.update(state)
        raise

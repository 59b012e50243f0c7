"""The random number generators of a process, as plain values that go into a checkpoint."""

from __future__ import annotations

import random
import sys
from typing import Any

import torch


def capture() -> dict[str, Any]:
    """The state of torch's generators, Python's, and NumPy's global one where NumPy is loaded."""
    state = capture_torch() | {"python": random.getstate()}
    if "numpy" in sys.modules:
        kind, keys, *rest = sys.modules["numpy"].random.get_state()
        state["numpy"] = (kind, torch.from_numpy(keys.astype("int64")), *rest)
    return state


def capture_torch() -> dict[str, Any]:
    """As much of it as is quick enough for every turn of a loop."""
    state: dict[str, Any] = {"torch": torch.default_generator.get_state()}
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def restore(state: dict[str, Any]) -> None:
    """Sets every generator that was captured."""
    torch.set_rng_state(state["torch"])
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"])
    if "numpy" in state:
        import numpy

        kind, keys, *rest = state["numpy"]
        numpy.random.set_state((kind, keys.numpy().astype("uint32"), *rest))

"""Whether two gradients are equal, and how far they are apart."""

from __future__ import annotations

from typing import TypeAlias

import torch
from torch import Tensor

Gradients: TypeAlias = dict[str, Tensor]
"""By the name of the parameter, in float64 on the CPU; zeros where nothing was deposited."""

SMALL = 1e-3
"""A cell with less than this part of the whole gradient is judged as if it had this part.

Some are zero but for rounding: a bias in front of a normalisation, say.
"""


def flat(gradients: Gradients) -> Tensor:
    """All the cells as one vector."""
    return torch.cat([gradient.reshape(-1) for gradient in gradients.values()])


def norm(gradients: Gradients) -> float:
    """The norm of all the cells together."""
    return float(flat(gradients).norm())


def agree(actual: Gradients, expected: Gradients, rtol: float, *, noise: float = 0.0) -> bool:
    """Is each cell what it should be, to `rtol`, or to the noise of rounding?"""
    excess = [distance(actual, expected, name, noise=noise) for name in expected]
    return all(apart <= rtol for apart in excess)  # false for NaN


def distance(actual: Gradients, expected: Gradients, name: str, *, noise: float = 0.0) -> float:
    """How far one cell is off, as a part of what it should hold."""
    apart = float((actual[name] - expected[name]).norm())
    if apart <= noise:
        return 0.0
    size = max(float(expected[name].norm()), SMALL * norm(expected))
    return apart / size if size else float("inf")


def distance_of_all(actual: Gradients, expected: Gradients) -> float:
    """How far all the cells together are off, as a part of what they should hold."""
    size = norm(expected)
    apart = float((flat(actual) - flat(expected)).norm())
    return apart / size if size else float("inf")


def times(actual: Gradients, expected: Gradients) -> float | None:
    """The factor between the two, where they have one direction; else None."""
    one, other = flat(actual), flat(expected)
    square = float(other @ other)
    if not square:
        return None
    factor = float(one @ other) / square
    rest = float((one - factor * other).norm())
    return factor if rest <= 1e-4 * float(one.norm()) else None

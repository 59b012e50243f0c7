"""How much each micro-batch weighs in a gradient, read from the gradients alone."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import NamedTuple

import torch

from gradledger.runtime.window_equality.agreement import Gradients, flat

ALIKE = 1e-10
"""Below this eigenvalue of the unit gradients' products, a weight would have few digits left."""


class Weights(NamedTuple):
    """The combination of the micro-batches' own gradients that comes nearest to a gradient."""

    each: tuple[float, ...]
    """One for each micro-batch; NaN where its own gradient is zero or not finite."""
    unexplained: float
    """The part of the gradient that no combination gives: 0 to 1."""


def weigh(target: Gradients, own: Sequence[Gradients]) -> Weights | None:
    """Least squares of the target on the micro-batches' own gradients.

    None when these are too much alike to tell the weights apart: more micro-batches than the model
    has directions to learn in, or the same items twice.
    """
    vectors = [flat(gradients) for gradients in own]
    norms = [float(vector.norm()) for vector in vectors]
    telling = [i for i, norm in enumerate(norms) if 0 < norm < float("inf")]
    if not telling:
        return None
    # Unit vectors, so that a micro-batch with small gradients is not taken for no direction at all.
    units = torch.stack([vectors[i] / norms[i] for i in telling])
    products = units @ units.T
    if float(torch.linalg.eigvalsh(products)[0]) < ALIKE:
        return None
    wanted = flat(target)
    found = torch.linalg.solve(products, units @ wanted)
    each = [nan] * len(own)
    for i, weight in zip(telling, found.tolist(), strict=True):
        each[i] = weight / norms[i]
    norm = float(wanted.norm())
    rest = float((wanted - found @ units).norm())
    return Weights(tuple(each), rest / norm if norm else 0.0)

"""The sums of a window as a whole: their norm, whether they are finite, and their scaling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import hypot, isfinite

import torch
from torch import Tensor

from gradledger.engine.packable import LOW_PRECISION


class Amounts:
    """The sums of a window in portions, each of which is clipped by itself (usually one)."""

    def __init__(
        self,
        portions: Sequence[list[Tensor]],
        limits: Sequence[float | None],
        factor: float,
        *,
        measured: bool,
        across: Callable[[Tensor], Tensor] | None = None,
        repeated: Sequence[Sequence[int]] = (),
    ) -> None:
        self._portions = portions
        self._limits = limits
        self._factor = factor
        """Divides by the window's weight, and unscales."""
        self._across = across
        self._repeated = repeated
        """How many ranks have the same of each, and add it up as often."""
        self._norms: list[Tensor | float] = []
        if measured:
            self._norms = self._measure()

    def finite(self) -> bool:
        """Whether there is no NaN and no Inf. Waits for the device."""
        self._norms = [float(norm) for norm in self._norms]
        if all(map(isfinite, self._norms)):
            return True
        # The norm of large but finite numbers can overflow: look at the numbers themselves.
        strange = sum(not torch.isfinite(t).all() for portion in self._portions for t in portion)
        if self._across is not None:
            strange = int(self._across(torch.tensor(float(strange))))
        if strange:
            return False
        self._norms = [float(norm) for norm in self._measure(torch.float64)]
        return True

    def _measure(self, dtype: torch.dtype | None = None) -> list[Tensor | float]:
        """The norm of each portion, over all ranks that have a part of it."""
        if self._across is None or not self._portions:
            return [_norm(portion, dtype) for portion in self._portions]
        squares = [
            self._square(portion, times, dtype)
            for portion, times in zip(self._portions, self._repeated, strict=True)
        ]
        return list(self._across(torch.stack(squares)).sqrt())

    def _square(
        self, portion: list[Tensor], repeated: Sequence[int], dtype: torch.dtype | None
    ) -> Tensor:
        """This rank's part in the square of the norm."""
        square = torch.zeros((), dtype=torch.float64)
        for times in sorted(set(repeated)):
            pairs = zip(portion, repeated, strict=True)
            norm = _norm([t for t, often in pairs if often == times], dtype)
            square = square.to(norm.device) + norm.double().square() / times
        return square

    def settle(self, clip_value: float | None) -> None:
        """Divides, unscales and clips: each number is multiplied once."""
        factor = self._factor
        for which, (portion, limit) in enumerate(zip(self._portions, self._limits, strict=True)):
            if limit is not None:
                _multiply(portion, factor * _shrink(self._norms[which] * factor, limit))
            else:
                _multiply(portion, factor)
            if clip_value is not None:
                torch._foreach_clamp_min_(portion, -clip_value)
                torch._foreach_clamp_max_(portion, clip_value)

    def release(self) -> None:
        """Lets go of the sums: only the norm is still asked for."""
        self._portions = ()

    def norm(self) -> float | None:
        """The norm of it all, divided and unscaled, before clipping. Waits for the device.

        None where nobody had a use for it when the window was spent.
        """
        if not self._norms:
            return None
        return hypot(*(float(norm) for norm in self._norms)) * self._factor


def _norm(tensors: list[Tensor], dtype: torch.dtype | None = None) -> Tensor:
    """Of all of them together, on the device of the first."""
    if not tensors:
        return torch.zeros(())
    norms: Sequence[Tensor]
    if len(tensors) == 1:
        (only,) = tensors
        wide = torch.float32 if only.dtype in LOW_PRECISION else None
        norm: Tensor = torch.linalg.vector_norm(only, dtype=dtype or wide)
        return norm
    if dtype is None and not any(t.dtype in LOW_PRECISION for t in tensors):
        norms = torch._foreach_norm(tensors)
    else:
        # In 16 bits, the norm would overflow before any of the numbers does.
        norms = [torch.linalg.vector_norm(t, dtype=dtype or torch.float32) for t in tensors]
    device = norms[0].device
    widest = torch.float64 if any(n.dtype is torch.float64 for n in norms) else torch.float32
    total: Tensor = torch.linalg.vector_norm(torch.stack([n.to(device, widest) for n in norms]))
    return total


def _shrink(norm: Tensor | float, limit: float) -> Tensor | float:
    """As `torch.nn.utils.clip_grad_norm_` has it."""
    coefficient = limit / (norm + 1e-6)
    if isinstance(coefficient, Tensor):
        return coefficient.clamp(max=1.0)
    return min(coefficient, 1.0)


def _multiply(tensors: list[Tensor], by: Tensor | float) -> None:
    if isinstance(by, Tensor):
        for t in tensors:
            t.mul_(by.to(t.device))
    elif by != 1.0 and len(tensors) == 1:
        tensors[0].mul_(by)
    elif by != 1.0 and tensors:
        torch._foreach_mul_(tensors, by)

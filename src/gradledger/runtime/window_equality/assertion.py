"""`assert_window_equals_batch`: what people call in their tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.modules import batchnorm

from gradledger.errors import LossError, OptionError, WindowNotEqual
from gradledger.runtime.window_equality.agreement import agree, flat, norm
from gradledger.runtime.window_equality.big_batch import concatenated, private, rows
from gradledger.runtime.window_equality.deposit import deposit
from gradledger.runtime.window_equality.trials import Trials
from gradledger.runtime.window_equality.words import Suspects, message

_BATCH_NORMS: Any = getattr(batchnorm, "_BatchNorm", None) or (
    *(nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm),
)
B = TypeVar("B")
M = TypeVar("M", bound=nn.Module)


def assert_window_equals_batch(
    model: M,
    loss_fn: Callable[[M, B], Tensor],
    micro_batches: Iterable[B],
    *,
    accumulate: Callable[[M, Sequence[B]], object] | None = None,
    concatenate: Callable[[Sequence[B]], B] | None = None,
    rtol: float = 1e-5,
    dtype: torch.dtype | None = torch.float64,
) -> None:
    """Passes when one window of accumulation has the gradient of its items in one big batch.

    `loss_fn(model, batch)` is the loss of a batch, as you would write it without accumulation.
    `accumulate(model, micro_batches)` is your own code: it makes the backward passes of one window,
    and neither steps nor clears. Left out, it is `(loss_fn(model, batch) / n).backward()` for each.

    Everything runs on copies in `dtype` (None: the model's own), from the same weights, buffers and
    random numbers. The model, its gradients and all generators stay as they are. Tensors are joined
    along their first dimension; `concatenate(micro_batches)` makes the big batch of anything else.

    Raises WindowNotEqual, an AssertionError, that says what each micro-batch weighs and should.
    """
    __tracebackhide__ = True  # pytest shows the caller's line, not ours
    batches = _listed(micro_batches)
    if not rtol > 0:
        raise OptionError(f"rtol must be positive, got {rtol!r}. Left out, it is 1e-5.")
    by = "loss_fn" if accumulate is None else "accumulate"

    def of_window(model: M) -> None:
        copies = [private(batch, dtype) for batch in batches]
        if accumulate is not None:
            accumulate(model, copies)
        else:
            for batch in copies:
                deposit(loss_fn(model, batch), model, divided_by=len(copies))

    def of_one(batch: B) -> Callable[[M], None]:
        return lambda model: deposit(loss_fn(model, private(batch, dtype)), model)

    with Trials(model, dtype) as trials:
        big = (concatenate or concatenated)([private(batch, None) for batch in batches])
        whole = trials.gradients(of_one(big), by="loss_fn")
        suspects = Suspects(
            tuple(_batch_normalisations(model)),
            trials.drew_random_numbers(),
            trials.changed_buffers(),
        )
        window = trials.gradients(of_window, by=by)
        if not flat(whole).isfinite().all():
            raise LossError(
                "the gradient of the big batch is not finite, so that nothing can equal it. Look "
                "for NaN and Inf in the batches, and for a mean over no items."
            )
        if norm(whole) and agree(window, whole, rtol):
            return
        own = []
        for batch in batches:
            try:
                own.append(trials.gradients(of_one(batch), by="loss_fn"))
            except LossError:  # a micro-batch without a valid item, which accumulate leaves out
                own.append({name: torch.zeros_like(cell) for name, cell in whole.items()})
    sizes = [norm(gradients) for gradients in own if flat(gradients).isfinite().all()]
    if not any(sizes):
        raise LossError(
            "every gradient is zero, so that any weights would pass. Start from other weights, "
            "or take other batches."
        )
    # At an optimum the micro-batches cancel out, and what is left of both sides is rounding.
    noise = 64 * torch.finfo(dtype or _precision(model)).eps * sum(sizes)
    if not agree(window, whole, rtol, noise=noise):
        items = [rows(batch) for batch in batches]
        raise WindowNotEqual(message(window, whole, own, items, rtol, suspects))


def _listed(micro_batches: Iterable[B]) -> list[B]:
    if isinstance(micro_batches, (Tensor, Mapping, str)):
        raise OptionError(
            f"micro_batches must be a list of batches, got one {type(micro_batches).__name__}. "
            "Cut it: `x.split(8)` makes micro-batches of 8 rows."
        )
    batches = list(micro_batches)
    if not batches:
        raise OptionError("micro_batches is empty. Give it the batches of one window, two or more.")
    return batches


def _precision(model: nn.Module) -> torch.dtype:
    """The coarsest of the model's parameters."""
    found = [p.dtype for p in model.parameters() if p.dtype.is_floating_point]
    return max(found, key=lambda dtype: torch.finfo(dtype).eps, default=torch.float32)


def _batch_normalisations(model: nn.Module) -> Iterator[str]:
    """Those that look at the batch, and not at what they have seen before."""
    for name, module in model.named_modules():
        if isinstance(module, _BATCH_NORMS) and (module.training or module.running_mean is None):
            yield name or type(module).__name__

"""What people see with mixed precision and on many ranks."""

from __future__ import annotations

from gradledger.why.causes import (
    BAD_BATCH_SPENT,
    SCALED_CLIP,
    SCALED_STEP,
)
from gradledger.why.entry import Cause, Entry

SCALE: tuple[Entry, ...] = (
    Entry(
        "mixed-precision-differs",
        "Mixed precision trains differently",
        "A GradScaler multiplies the loss. Everything that looks at gradients must see them "
        "unscaled, and "
        "all gradients of a window must have one scale.",
        (
            SCALED_STEP,
            SCALED_CLIP,
            Cause(
                "the scale changes inside a window, or some losses are scaled and others are not",
                "scale every loss, and unscale and update once, after the last backward pass",
                "GL404",
            ),
            Cause(
                "the scheduler moves although the scaler skipped the step",
                "move it only if the scale did not shrink",
                "GL504",
            ),
        ),
        words=("amp fp16 autocast gradscaler mixed precision worse than fp32 accuracy differs",),
    ),
    Entry(
        "scaler-skips-steps",
        "The GradScaler skips steps, and its scale keeps shrinking",
        "A skipped step now and then is normal: the scaler looks for the largest scale that works. "
        "If it skips every step, the gradients are not finite, whatever the scale.",
        (
            Cause(
                "the loss or a gradient is NaN or infinite without the scale, too",
                "find the first bad pass with `gradledger run`, and fix the loss that caused it",
                "GL901",
            ),
            Cause(
                "a part of the model overflows in fp16 (large logits, a sum, a division)",
                "compute that part in fp32, or use bf16, which needs no scaler",
            ),
            Cause(
                "the means of N micro-batches are added up and not divided, so the sum overflows",
                "divide the loss by N before `scaler.scale(loss).backward()`",
                "GL301",
            ),
            BAD_BATCH_SPENT,
        ),
        words=(
            "gradscaler skips skipped step, found inf, overflow, loss scale decreasing, reducing "
            "scale, scale becomes zero one",
        ),
    ),
    Entry(
        "ranks-differ",
        "Ranks disagree",
        "Every rank must use the same averaged gradient in each step.",
        (
            Cause(
                "a step uses gradients that were made under `no_sync()` only",
                "run the last micro-batch of a window outside `no_sync()`, forward pass included",
                "GL801",
            ),
            Cause(
                "parameters differ between ranks: the model was changed after it was wrapped, or "
                "gradients were edited on one rank",
                "wrap the model after all changes to it",
                "GL803",
            ),
            Cause(
                "a mean over ranks is a mean of means: ranks with fewer items weigh as much",
                "weigh by items, or use `gradledger.Stepper`, which does",
            ),
        ),
        words=(
            "ddp distributed ranks diverge out of sync different loss on each gpu multi gpu "
            "evaluation, ddp different results than single gpu",
        ),
    ),
    Entry(
        "unused-parameters",
        "DDP waits for a parameter that gets no gradient",
        "DDP averages gradients when all parameters of a bucket have theirs. A parameter that does "
        "not take part in the loss never gets one: the next forward pass raises, or ranks wait for "
        "each other.",
        (
            Cause(
                "a parameter is not used in the loss, on this rank or on all",
                "use it, freeze it, or take it out of the model; `find_unused_parameters=True` "
                "finds them in each pass, which costs time",
                "GL602",
            ),
            Cause(
                "a forward pass without a backward pass, as on a batch that was skipped",
                "skip on all ranks, or run it through `model.module` under `no_grad()`",
            ),
            Cause(
                "ranks have different numbers of batches: some wait for those that have finished",
                "use a DistributedSampler with `drop_last=True`, or `model.join()`",
            ),
        ),
        messages=(
            "Expected to have finished reduction in the prior iteration",
            "module has parameters that were not used in producing loss",
        ),
        words=("ddp hangs freezes deadlock waits forever nccl timeout unused parameters",),
    ),
)

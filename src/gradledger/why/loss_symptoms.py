"""What people see in the loss when nothing raises."""

from __future__ import annotations

from gradledger.why.causes import (
    BAD_BATCH_SPENT,
    CLEARED_EARLY,
    CLIP_TOO_LATE,
    LEARNING_RATE,
    LEFT_OVER,
    NOT_CLEARED,
    NOT_DIVIDED,
    NOT_OWNED,
    NOTHING_TO_SPEND,
    REPLACED,
    SCALED_CLIP,
    SCALED_STEP,
    UNEQUAL,
)
from gradledger.why.entry import Cause, Entry

LOSS: tuple[Entry, ...] = (
    Entry(
        "loss-oscillates",
        "The loss oscillates or diverges",
        "The loss falls at first, then swings or runs away, and a smaller learning rate seems to "
        "help. "
        "Each update is larger than the gradient of the current batch, or points elsewhere.",
        (NOT_CLEARED, NOT_DIVIDED, CLIP_TOO_LATE, LEARNING_RATE),
        words=(
            "loss swings up and down zigzag unstable training explodes blows up diverging",
            "loss goes down then up, increases instead, rises, grows, going up",
            "smaller learning rate helps",
            "forgot zero_grad missing put without",
        ),
    ),
    Entry(
        "loss-nan",
        "The loss is NaN",
        "One gradient that is NaN or infinite makes the weights NaN, and they never recover. Find "
        "the "
        "first step that used one: `gradledger run` names the parameter and the backward pass.",
        (
            SCALED_STEP,
            CLIP_TOO_LATE,
            Cause(
                "a step spends a gradient that is not finite, from one bad batch or a division by "
                "zero",
                "skip the step if the norm that `clip_grad_norm_` returns is not finite, and fix "
                "the "
                "loss that made it so",
                "GL901",
            ),
            NOT_CLEARED,
            LEARNING_RATE,
        ),
        messages=(
            "returned nan values in its",
            "loss: nan",
            "loss:nan",
            "loss=nan",
            "loss = nan",
            "loss nan",
        ),
        words=(
            "nan inf infinite loss becomes nan first step",
            "weights, parameters, gradients, grad norm are nan or inf",
        ),
    ),
    Entry(
        "loss-constant",
        "The loss does not change",
        "The weights don't move, or not those that matter.",
        (
            CLEARED_EARLY,
            NOTHING_TO_SPEND,
            REPLACED,
            NOT_OWNED,
            Cause(
                "the loss is computed from detached values (`.item()`, `.data`, `no_grad()`), so "
                "no "
                "gradient reaches the model",
                "print `loss.grad_fn`: None means that there is no graph",
            ),
        ),
        words=(
            "loss stuck flat constant same stays plateaus not decreasing, not going down",
            "model not learning learns nothing, accuracy stuck, does not improve, chance",
            "weights never change, parameters not updating, updated; optimizer.step() does nothing",
            "zero_grad after backward",
        ),
    ),
    Entry(
        "loss-plateau",
        "The loss levels off too high",
        "The model learns something and then stops: a part of it may not be trained at all.",
        (
            NOT_OWNED,
            REPLACED,
            Cause(
                "a parameter never gets a gradient, because the loss does not depend on it",
                "use it in the loss, or take it out of the model",
                "GL602",
            ),
            SCALED_CLIP,
        ),
        words=("plateaus high underfits levels off part of the model not trained",),
    ),
    Entry(
        "loss-spikes",
        "The loss spikes now and then",
        "Rare jumps come from rare events: a bad batch, an exception that was caught, an overflow.",
        (BAD_BATCH_SPENT, CLIP_TOO_LATE, LEFT_OVER),
        words=("spikes sudden jump rare after bad batch caught exception",),
    ),
    Entry(
        "epoch-bump",
        "The loss jumps at the start of each epoch",
        "Gradients of the last batches of an epoch are still there when the next one begins.",
        (LEFT_OVER, UNEQUAL),
        words=("bump spike loss at epoch start beginning end periodic boundary jumps each epoch",),
    ),
    Entry(
        "accumulation-worse",
        "Accumulation trains worse than the big batch",
        "N micro-batches in one window should give the update of one batch N times as large. The "
        "weights "
        "of the micro-batches are wrong, or something happens once per micro-batch instead of "
        "once per "
        "window.",
        (
            NOT_DIVIDED,
            UNEQUAL,
            LEFT_OVER,
            Cause(
                "each micro-batch is clipped instead of the window",
                "clip once, right before the step",
                "GL502",
            ),
            Cause(
                "the framework already divides by N, and so does the code",
                "leave the division to the framework",
                "GL303",
            ),
            Cause(
                "the window is summed in bf16 or fp16, where small gradients vanish",
                "keep the parameters in fp32 under autocast",
                "GL903",
            ),
            Cause(
                "BatchNorm sees micro-batches, not the window",
                "use a norm that does not look across the batch; no division fixes this",
            ),
        ),
        words=(
            "gradient accumulation different result, not same as large batch",
            "effective batch size doesn't match, loss N times too large",
            "accumulation steps diverge",
        ),
    ),
)

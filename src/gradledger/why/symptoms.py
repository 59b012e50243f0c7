"""What people see when training goes wrong and nothing raises."""

from __future__ import annotations

from gradledger.why.causes import (
    BAD_BATCH_SPENT,
    CLEARED_EARLY,
    CLIP_TOO_LATE,
    GRAPH_KEPT,
    LEARNING_RATE,
    LEFT_OVER,
    NOT_CLEARED,
    NOT_DIVIDED,
    NOT_OWNED,
    NOTHING_TO_SPEND,
    REPLACED,
    SCALED_CLIP,
    SCALED_STEP,
    STATE_KEPT,
    UNEQUAL,
)
from gradledger.why.entry import Cause, Entry

SYMPTOMS: tuple[Entry, ...] = (
    Entry(
        "loss-oscillates",
        "The loss oscillates or diverges",
        "The loss falls at first, then swings or runs away, and a smaller learning rate seems to "
        "help. "
        "Each update is larger than the gradient of the current batch, or points elsewhere.",
        (NOT_CLEARED, NOT_DIVIDED, CLIP_TOO_LATE, LEARNING_RATE),
        words=(
            "loss swings up and down zigzag unstable training explodes diverging",
            "loss goes down then up",
            "smaller learning rate helps",
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
        words=("nan inf infinite loss becomes nan after first step", "weights are nan"),
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
            "loss stuck flat constant same does not decrease not learning",
            "model does not train weights never change",
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
        words=("plateau underfits levels off part of the model not trained",),
    ),
    Entry(
        "out-of-memory",
        "Out of memory after N steps",
        "The first steps fit, and memory grows until nothing is left: something keeps the graphs "
        "of "
        "earlier iterations alive.",
        (
            GRAPH_KEPT,
            STATE_KEPT,
            Cause(
                "`retain_graph=True` keeps a graph that nothing uses again",
                "leave `retain_graph` out",
                "GL703",
            ),
            Cause(
                "gradients are summed in parameters that no optimizer owns",
                "freeze them with `requires_grad_(False)`",
                "GL601",
            ),
        ),
        words=("oom memory grows leak increases every iteration cuda memory",),
    ),
    Entry(
        "slower-each-step",
        "Each iteration is slower than the last",
        "The backward pass walks a graph that grows with every iteration.",
        (STATE_KEPT, GRAPH_KEPT),
        words=("training gets slower over time slows down iteration time grows",),
    ),
    Entry(
        "slow-training",
        "Training is slower than the model explains",
        "Work is done that no step uses, or done more often than needed.",
        (
            Cause(
                "gradients are computed for parameters that never use them",
                "freeze them for that backward pass, or name `inputs=` in it",
                "GL204",
            ),
            Cause(
                "ranks average gradients for each micro-batch of a window",
                "run all but the last micro-batch under `model.no_sync()`",
                "GL802",
            ),
            Cause(
                "many small parameters: clear, clip and step cost one operation per tensor",
                "use `fused=True` or `foreach=True`, or `gradledger.Stepper`, which packs them",
            ),
        ),
        words=("slow training speed gpu idle utilization low",),
    ),
    Entry(
        "slow-zero-grad",
        "zero_grad is slow",
        "Clearing to zeros writes every gradient, one operation per tensor. Since torch 2.0 the "
        "default "
        "is None, which writes nothing.",
        (
            Cause(
                "`zero_grad(set_to_none=False)` writes zeros into every tensor",
                "leave `set_to_none` at its default; code that reads `.grad` must then expect None",
            ),
            Cause(
                "what is measured is the wait for the device: `zero_grad()` comes after work that "
                "is "
                "still running on the GPU",
                "call `torch.cuda.synchronize()` before and after what you measure",
            ),
        ),
        words=("slow zero_grad set_to_none zeroing gradients takes time",),
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
            "gradient accumulation different result from large batch effective batch size",
            "accumulation steps diverge",
        ),
    ),
    Entry(
        "epoch-bump",
        "The loss jumps at the start of each epoch",
        "Gradients of the last batches of an epoch are still there when the next one begins.",
        (LEFT_OVER, UNEQUAL),
        words=("bump spike loss at epoch start periodic boundary every epoch",),
    ),
    Entry(
        "gan-collapses",
        "A GAN stalls or collapses",
        "The backward pass of the generator's loss also reaches the discriminator. If its "
        "gradients are "
        "still there when the discriminator steps, it is trained to be fooled.",
        (
            Cause(
                "the discriminator's step also uses gradients of the generator's loss",
                "clear the discriminator's gradients right before its own backward pass",
                "GL102",
            ),
            Cause(
                "the discriminator's loss also reaches the generator: `fake` is not detached",
                "use `fake.detach()` in the discriminator's loss",
                "GL204",
            ),
            NOT_CLEARED,
        ),
        words=("gan discriminator generator adversarial mode collapse two optimizers",),
    ),
    Entry(
        "frozen-moves",
        "Frozen layers change",
        "A parameter without a new gradient still moves if its `.grad` holds zeros or an old "
        "gradient: "
        "momentum, Adam's moments and weight decay go on.",
        (
            Cause(
                "gradients are cleared to zeros instead of None, or an old gradient is still there",
                "clear to None (the default), and set `.grad = None` when you freeze a parameter",
                "GL604",
            ),
            Cause(
                "two optimizers own the parameter",
                "give each parameter to one optimizer",
                "GL605",
            ),
        ),
        words=("frozen parameters still updated weights change although requires_grad false",),
    ),
    Entry(
        "clipping-useless",
        "Clipping has no effect, or stops training",
        "Clipping must see the gradient that the step will use: unscaled, of the whole window, and "
        "before the step.",
        (CLIP_TOO_LATE, SCALED_CLIP),
        words=(
            "clip_grad_norm max_norm changes nothing gradient norm huge tens of thousands",
            "clipping amp barely moves",
        ),
    ),
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
        words=("amp fp16 autocast gradscaler mixed precision worse accuracy",),
    ),
    Entry(
        "learning-rate-ends-early",
        "The learning rate reaches its end too early",
        "The scheduler moves more often than the optimizer.",
        (
            Cause(
                "the scheduler moves once per micro-batch, or on steps that the scaler skipped",
                "step the scheduler where the optimizer steps",
                "GL504",
            ),
            Cause(
                "the scheduler moves before the first step",
                "call `scheduler.step()` after `optimizer.step()`",
                "GL503",
            ),
        ),
        words=("learning rate decays too fast scheduler warmup ends early lr zero",),
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
        ),
        words=("ddp distributed ranks diverge different loss on each gpu multi gpu evaluation",),
    ),
    Entry(
        "loss-spikes",
        "The loss spikes now and then",
        "Rare jumps come from rare events: a bad batch, an exception that was caught, an overflow.",
        (BAD_BATCH_SPENT, CLIP_TOO_LATE, LEFT_OVER),
        words=("spikes sudden jump rare after bad batch oom caught exception",),
    ),
)

"""What people see in gradients, parameters, clipping and the learning rate."""

from __future__ import annotations

from gradledger.why.causes import (
    CLIP_TOO_LATE,
    NOT_CLEARED,
    REPLACED,
    SCALED_CLIP,
)
from gradledger.why.entry import Cause, Entry

GRADIENTS: tuple[Entry, ...] = (
    Entry(
        "gradients-none",
        "Gradients are None or zero",
        "A parameter's `.grad` is None until a backward pass reaches it, and again after "
        "`zero_grad()`. Zero means that it was reached, and the loss does not depend on it there.",
        (
            Cause(
                "`.grad` is read before `backward()`, or after `zero_grad()`",
                "read it between the two",
                "GL606",
            ),
            Cause(
                "the loss does not depend on the parameter",
                "use its output in the loss, or take it out of the model",
                "GL602",
            ),
            Cause(
                "the graph is cut on the way: `.detach()`, `.item()`, `.data`, numpy, `no_grad()`, "
                "`argmax`",
                "print `grad_fn` from the loss backwards: the first None is where it is cut",
            ),
            Cause(
                "the tensor is not a leaf (a result such as `w * 2` or `w.to(device)`)",
                "read the gradient of the leaf, or call `retain_grad()` before `backward()`",
            ),
            REPLACED,
            Cause(
                "activation checkpointing with `use_reentrant=True` gets only inputs that need no "
                "gradient",
                "use `use_reentrant=False`",
            ),
            Cause(
                "zero: a ReLU or a sigmoid that is saturated, or a mask that covers everything",
                "look at the activations of that layer",
            ),
        ),
        messages=("None of the inputs have requires_grad=True",),
        words=(
            "grad is none, p.grad none, parameter has no gradient backward",
            "gradients are all zero vanish vanishing",
        ),
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
        words=(
            "frozen freeze parameters still updated backbone weights change although requires_grad "
            "false",
        ),
    ),
    Entry(
        "clipping-useless",
        "Clipping has no effect, or stops training",
        "Clipping must see the gradient that the step will use: unscaled, of the whole window, and "
        "before the step.",
        (CLIP_TOO_LATE, SCALED_CLIP),
        words=(
            "clip_grad_norm gradient clipping max_norm does nothing, changes nothing",
            "grad norm huge large tens of thousands, clipping amp barely moves",
        ),
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
        words=("lr learning rate decays too fast scheduler warmup ends early short zero halfway",),
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
        words=(
            "gan discriminator generator adversarial mode collapse two optimizers",
            "discriminator loss zero wins, generator not learning does not improve",
        ),
    ),
)

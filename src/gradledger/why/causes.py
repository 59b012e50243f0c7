"""Causes that several symptoms and messages share."""

from __future__ import annotations

from gradledger.why.entry import Cause

NOT_CLEARED = Cause(
    "`zero_grad()` is missing, or runs only on some steps: each step also repeats all earlier ones",
    "call `optimizer.zero_grad()` once per step, before the backward pass or after the step",
    "GL101",
)
NOT_DIVIDED = Cause(
    "gradients of N micro-batches are added up and not divided: every step is N times too long",
    "divide the loss by N before `backward()`",
    "GL301",
)
SCALED_STEP = Cause(
    "`optimizer.step()` uses gradients that a GradScaler multiplied (by 65,536 at the start)",
    "call `scaler.step(optimizer)` and `scaler.update()` instead",
    "GL402",
)
CLIP_TOO_LATE = Cause(
    "clipping has no effect: it runs after the step, or before there is a gradient",
    "clip between the last `backward()` and `step()`",
    "GL501",
)
SCALED_CLIP = Cause(
    "gradients are clipped before `scaler.unscale_(optimizer)`, so the limit applies to the "
    "scaled norm",
    "call `scaler.unscale_(optimizer)` before clipping",
    "GL401",
)
GRAPH_KEPT = Cause(
    "a loss is summed or stored with its graph: `total += loss`, `losses.append(loss)`",
    "keep the number: `total += loss.item()`, or `loss.detach()`",
    "GL701",
)
STATE_KEPT = Cause(
    "a hidden state carries the graph of all earlier iterations",
    "detach it between iterations: `state = state.detach()`",
    "GL702",
)
LEARNING_RATE = Cause(
    "the learning rate is too high for this model and batch size",
    "divide it by 10; if that helps and the books balance, it was the learning rate",
)
CLEARED_EARLY = Cause(
    "gradients are cleared before a step has used them: `backward(); zero_grad(); step()`",
    "clear before the backward pass or after the step, not in between",
    "GL201",
)
NOTHING_TO_SPEND = Cause(
    "the step finds no gradient: no `backward()` since the last clear, or all of them are None",
    "call `loss.backward()` between `zero_grad()` and `step()`",
    "GL202",
)
REPLACED = Cause(
    "a layer was replaced after the optimizer was made: the optimizer still holds the old one",
    "make the optimizer after the last change to the model",
    "GL603",
)
NOT_OWNED = Cause(
    "some parameters were never given to an optimizer",
    "pass them to one, or freeze them with `requires_grad_(False)`",
    "GL601",
)
BAD_BATCH_SPENT = Cause(
    "an exception was caught in the middle of a window, and the next step uses what it left behind",
    "clear the gradients in the `except` branch and start the window again",
    "GL902",
)
UNEQUAL = Cause(
    "micro-batches of unequal size weigh the same, or a short last window is divided by N",
    "sum the loss over items and divide once by the number of items in the window",
    "GL302",
)
LEFT_OVER = Cause(
    "the last micro-batches of an epoch are followed by no step and leak into the next epoch",
    "step on the last batch too, and divide by that window's own size",
    "GL203",
)

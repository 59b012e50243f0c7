"""What torch prints when gradients are used wrongly. A test provokes each of these messages."""

from __future__ import annotations

from gradledger.why.causes import CLEARED_EARLY, GRAPH_KEPT, NOT_OWNED, REPLACED, STATE_KEPT
from gradledger.why.entry import Cause, Entry

_NO_BACKWARD_YET = Cause(
    "`.grad` is None: no `backward()` has reached this parameter since the last `zero_grad()`",
    "read gradients between `backward()` and `zero_grad()`, and check for None",
    "GL606",
)

MESSAGES: tuple[Entry, ...] = (
    Entry(
        "none-has-no-attribute",
        "'NoneType' object has no attribute",
        "Code used the gradient of a parameter that has none.",
        (
            _NO_BACKWARD_YET,
            Cause(
                "the parameter does not take part in the loss, or is frozen",
                "skip it: `if p.grad is not None`",
                "GL602",
            ),
            Cause(
                "the tensor is not a leaf (a result such as `w * 2` or `w.to(device)`)",
                "make the tensor on its device and set `requires_grad_()` last, or `retain_grad()`",
            ),
        ),
        messages=("'NoneType' object has no attribute",),
        words=("attributeerror nonetype grad norm data",),
    ),
    Entry(
        "none-in-arithmetic",
        "unsupported operand type(s): 'NoneType'",
        "Code computed with the gradient of a parameter that has none.",
        (_NO_BACKWARD_YET,),
        messages=("unsupported operand type(s) for …'NoneType'",),
        words=("typeerror nonetype grad arithmetic",),
    ),
    Entry(
        "backward-second-time",
        "Trying to backward through the graph a second time",
        "A backward pass frees the graph that it walks. A second one through the same graph fails. "
        "`retain_graph=True` hides the cause in most cases, and costs memory.",
        (
            STATE_KEPT,
            Cause(
                "two losses share a part of the graph, and each has its own `backward()`",
                "add them up and call `backward()` once",
            ),
            Cause(
                "something that needs a gradient was computed once, before the loop",
                "compute it inside the loop",
            ),
            GRAPH_KEPT,
        ),
        messages=("Trying to backward through the graph a second time",),
        words=("backward twice error two losses retain_graph rnn hidden state",),
    ),
    Entry(
        "modified-in-place",
        "one of the variables needed for gradient computation has been modified by an inplace "
        "operation",
        "The backward pass needs a value that was overwritten after the forward pass. Often that "
        "is a "
        "weight, overwritten by `optimizer.step()`.",
        (
            Cause(
                "a step was made between a forward pass and its own backward pass, as when two "
                "optimizers train parts of one graph",
                "make all backward passes before the first step, or compute the second loss anew",
            ),
            STATE_KEPT,
            Cause(
                "an operation in place (`+=`, `relu_`, `x[...] = `) on a value that is needed",
                "use the form that makes a new tensor",
            ),
        ),
        messages=(
            "one of the variables needed for gradient computation has been modified by an inplace "
            "operation",
        ),
    ),
    Entry(
        "unscale-twice",
        "unscale_() has already been called on this optimizer since the last update()",
        "A GradScaler unscales the gradients of an optimizer once for each `update()`.",
        (
            Cause(
                "`unscale_()` runs for each micro-batch of a window",
                "call it once per window, after its last backward pass and before clipping",
                "GL405",
            ),
            Cause(
                "`scaler.update()` was left out, or a `continue` jumps over it",
                "call it once per iteration, after the last `scaler.step()`",
                "GL403",
            ),
        ),
        messages=("unscale_() has already been called on this optimizer since the last update()",),
    ),
    Entry(
        "step-twice",
        "step() has already been called since the last update()",
        "A GradScaler steps an optimizer once for each `update()`.",
        (
            Cause(
                "`scaler.update()` is missing after `scaler.step(optimizer)`",
                "call it once per iteration, after the last `scaler.step()`",
                "GL403",
            ),
        ),
        messages=("step() has already been called since the last update()",),
    ),
    Entry(
        "unscale-after-step",
        "unscale_() is being called after step()",
        "The step already unscaled the gradients; to unscale afterwards means to clip too late.",
        (
            Cause(
                "`unscale_()` and the clip come after `scaler.step(optimizer)`",
                "unscale, clip, step, update: in this order",
                "GL501",
            ),
            Cause("`scaler.update()` is missing", "call it once per iteration", "GL403"),
        ),
        messages=("unscale_() is being called after step()",),
    ),
    Entry(
        "no-inf-checks",
        "No inf checks were recorded",
        "The GradScaler has seen no gradient since its last update.",
        (
            Cause(
                "`scaler.update()` runs in iterations in which no `scaler.step()` was called",
                "call it where `scaler.step()` is called, once per window",
                "GL403",
            ),
            CLEARED_EARLY,
            Cause(
                "all gradients are None: the scaled loss does not depend on the optimizer's "
                "parameters",
                "see which parameters the loss reaches with `gradledger run`",
                "GL202",
            ),
        ),
        messages=(
            "No inf checks were recorded prior to update.",
            "No inf checks were recorded for this optimizer.",
        ),
    ),
    Entry(
        "fp16-unscale",
        "Attempting to unscale FP16 gradients",
        "A GradScaler needs fp32 parameters: autocast casts the inputs of each operation by "
        "itself.",
        (
            Cause(
                "the model was converted with `.half()` and is trained with a GradScaler",
                "leave the parameters in fp32 and use `torch.autocast`",
            ),
        ),
        messages=("Attempting to unscale FP16 gradients.",),
    ),
    Entry(
        "no-grad-fn",
        "element 0 of tensors does not require grad and does not have a grad_fn",
        "The loss has no graph, so there is nothing to walk.",
        (
            Cause(
                "the loss was computed under `no_grad()`, or from `.item()`, `.data`, "
                "`.detach()`, numpy",
                "follow the values back from the loss and print `grad_fn`",
            ),
            Cause("all parameters are frozen", "unfreeze those that should train"),
            Cause(
                "the output went through an operation without a gradient (`argmax`, a comparison)",
                "compute the loss from the logits",
            ),
        ),
        messages=("element 0 of tensors does not require grad and does not have a grad_fn",),
    ),
    Entry(
        "only-scalars",
        "grad can be implicitly created only for scalar outputs",
        "`backward()` starts with the seed 1 for a single number; a vector needs a seed of its "
        "own.",
        (
            Cause(
                "the loss has one value for each item (`reduction='none'`)",
                "call `.mean()` first, or `.sum()` and divide by the number of items",
            ),
        ),
        messages=("grad can be implicitly created only for scalar outputs",),
    ),
    Entry(
        "leaf-in-place",
        "a leaf Variable that requires grad is being used in an in-place operation",
        "A parameter was changed while autograd was watching.",
        (
            Cause(
                "a hand-written update outside of `no_grad()`",
                "wrap it in `with torch.no_grad():`",
            ),
        ),
        messages=("a leaf Variable that requires grad is being used in an in-place operation",),
    ),
    Entry(
        "non-leaf-optimized",
        "can't optimize a non-leaf Tensor",
        "An optimizer trains leaves: tensors that code made, not results of operations.",
        (
            Cause(
                "the tensor is a result: `torch.zeros(3, requires_grad=True).to(device)`",
                "make it on the device, then `requires_grad_()`; or use `nn.Parameter`",
            ),
        ),
        messages=("can't optimize a non-leaf Tensor",),
    ),
    Entry(
        "non-leaf-grad",
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed",
        "Only leaves keep their gradient. That of a result is used on the way and dropped.",
        (
            Cause(
                "the gradient of an intermediate result is wanted",
                "call `retain_grad()` on it before `backward()`",
            ),
            Cause(
                "a parameter became a result by `.to(device)` or arithmetic",
                "read the gradient of the original leaf",
            ),
        ),
        messages=("The .grad attribute of a Tensor that is not a leaf Tensor is being accessed",),
    ),
    Entry(
        "empty-parameter-list",
        "optimizer got an empty parameter list",
        "The model has no parameters that it knows of.",
        (
            Cause(
                "layers are kept in a plain list or dict",
                "use `nn.ModuleList` or `nn.ModuleDict`",
                "GL601",
            ),
            Cause(
                "`model.parameters()` was an iterator that another optimizer has already used up",
                "call `model.parameters()` again, or make a list of it",
            ),
        ),
        messages=("optimizer got an empty parameter list",),
    ),
    Entry(
        "scheduler-before-optimizer",
        "Detected call of `lr_scheduler.step()` before `optimizer.step()`",
        "The scheduler moved before the first step, so the first learning rate is never used.",
        (
            Cause(
                "the scheduler moves first in the loop",
                "call `scheduler.step()` after `optimizer.step()`",
                "GL503",
            ),
            Cause(
                "the GradScaler skipped the first step, and the scheduler moved all the same",
                "move it only if the step was made",
                "GL504",
            ),
            Cause(
                "accumulation: the scheduler moves per micro-batch",
                "move it where the optimizer steps",
                "GL504",
            ),
        ),
        messages=("Detected call of `lr_scheduler.step()` before `optimizer.step()`",),
    ),
    Entry(
        "non-finite-norm",
        "The total norm ... is non-finite, so it cannot be clipped",
        "`clip_grad_norm_(error_if_nonfinite=True)` met a NaN or an infinite gradient.",
        (
            Cause(
                "one batch gave a gradient that is not finite",
                "skip that step and clear; `gradledger run` names the parameter and the pass",
                "GL901",
            ),
            Cause(
                "scaled gradients overflowed: the norm is taken before `unscale_()`",
                "call `scaler.unscale_(optimizer)` first",
                "GL401",
            ),
        ),
        messages=("is non-finite, so it cannot be clipped",),
    ),
    Entry(
        "not-used-in-graph",
        "appears to not have been used in the graph",
        "`torch.autograd.grad` was asked about a tensor that the output does not depend on.",
        (
            Cause("the tensor is not part of the computation", "pass `allow_unused=True`"),
            REPLACED,
        ),
        messages=("appears to not have been used in the graph",),
    ),
    Entry(
        "optimizer-state-size",
        "loaded state dict contains a parameter group that doesn't match the size of optimizer's "
        "group",
        "The checkpoint belongs to an optimizer with other parameters.",
        (
            Cause(
                "layers were added, removed or frozen since the checkpoint was written",
                "build the same model and the same param groups before loading",
            ),
            NOT_OWNED,
        ),
        messages=(
            "loaded state dict contains a parameter group that doesn't match the size of "
            "optimizer's group",
        ),
    ),
    Entry(
        "numpy-requires-grad",
        "Can't call numpy() on Tensor that requires grad",
        "numpy knows no graph; torch wants you to say that the graph is to be left behind.",
        (Cause("a value is logged or plotted", "use `tensor.detach().numpy()` or `.item()`"),),
        messages=("Can't call numpy() on Tensor that requires grad",),
    ),
)

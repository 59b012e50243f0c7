"""Words by which code tells what it does to gradients: who says none of them, does nothing."""

from __future__ import annotations

from gradledger.static.source.patterns import Pattern

_UPDATES = r"scaler\([ \t]{0,4}(?:self\.)?\w{0,30}loss"
UPDATES = Pattern(_UPDATES, words=("scaler(",))
"""timm's scaler, and its copies: `loss_scaler(loss, optimizer)` deposits and spends."""

BACKWARDS = Pattern(
    r"(?<!def )\b(?:manual_)?backward\(", words=("backward(",), surely=(".backward(",)
)
"""Words without which code makes no deposit itself, whatever it tells frameworks to do."""

DEPOSITS = Pattern(
    r"(?<!def )\b(?:manual_)?backward\(|accumulate_grad_|gradient_accumulation|" + _UPDATES,
    words=("backward(", "accumulate_grad_", "gradient_accumulation", "scaler("),
    surely=(".backward(",),
)
"""Words without which a function makes no deposit. To define a backward is not to call one."""

LEAVES_WINDOWS = Pattern(
    "accumulate_grad_|gradient_accumulation", words=("accumulate_grad_", "gradient_accumulation")
)
"""Words of who leaves the windows to a framework; mostly in a text, as the name of an option."""

HANDS_LOSS = Pattern(
    # No number is open: a line of one long word would be read again from each of its letters.
    r"loss\w{0,30}[ \t]?(?:/[ \t]?[\w.]{1,40})?,[ \t]{0,4}(?:self\.)?\w{0,30}opt"
    r"|opt\w{0,30},[ \t]{0,4}(?:self\.)?\w{0,30}loss"
    r"|\.(?:\w{0,30}step|train\w{0,30}|optimize|minimize|fit_batch|update_params)\((?:self\.)?\w{0,30}loss",
    words=("loss",),
)
"""Words of code that leaves it to something else to train with its loss: `scaler(loss, opt)`."""

HANDS_BOTH = ("loss, opt", "loss, self.opt", "optimizer, loss")
"""The plainest of them: no pattern is needed to see that."""

STEPS = Pattern(r"\.step\(", words=(".step(",))

STEPS_OTHERS = Pattern(r"(?<!\bself)\.step\(", words=(".step(",))
"""`self.step()` calls a function of the same object, which says itself what it spends."""

SPENDS = Pattern(
    r"(?m)\.step\(|_step\(|\bStepper\(|stepper\.backward\("
    r"|(?<!autograd)\._?grad(?:\.\w| *[-+*/])|[-+*/] *[\w.\[\]]+\._?grad\b"
    r"|(?:sub|add|mul|div|lerp|copy)\w*\([^\r\n]*\._?grad\b|= *[\w.\[\]]+\._?grad *(?:#|$)|"
    + _UPDATES,
    words=(".step(", ".grad", "._grad", "_step(", "scaler(", "Stepper(", "stepper.backward("),
    surely=(".step(", "_step("),
)
"""Words without which a function spends nothing."""

DOES = Pattern(
    r"backward\(|zero_grad\(|\.step\(|" + _UPDATES,
    words=("backward(", "zero_grad(", ".step(", "scaler("),
    surely=("backward(", "zero_grad(", ".step("),
)
"""Words of functions that do something to gradients themselves."""

TOUCHES = Pattern(
    r"backward\(|zero_grad|\.step\(|\._?grad\b|grad_norm|grad_value|unscale_|requires_grad"
    r"|[oO]ptimizer|optim\.|no_sync|scale_loss|" + _UPDATES,
    words=(
        *("backward(", "zero_grad", ".step(", ".grad", "._grad", "grad_norm", "grad_value"),
        *("unscale_", "requires_grad", "ptimizer", "optim.", "no_sync", "scale_loss"),
        "scaler(",
    ),
    surely=("backward(", "zero_grad", ".step("),
)
"""Words without which a function does nothing to gradients, nor makes anything that does."""

OPTIMIZES = Pattern(r"ptim|parameters\(", words=("ptim", "parameters("))
"""Words of functions that have an optimizer, or might make one."""

HOOKS = Pattern(r"\.register_(full_)?(backward_)?hook\(", words=("register_",))
"""Words by which a function listens to the gradients that a later backward brings."""

TRAINS = Pattern(r"\.train\(", words=(".train(",))
"""Words of functions after which a model may be in training mode again."""

OF_NETS = Pattern(
    r"backward|zero_grad|ptim|\.step\(|\bnn\.|parameters\(|requires_grad",
    words=("backward", "zero_grad", "ptim", ".step(", "nn.", "parameters(", "requires_grad"),
)
"""Words of classes that hold nets, or train them."""

CUTS = Pattern(r"\.detach_?\(|\.data\b", words=(".detach", ".data"))
"""Words of functions whose result may have no graph, whatever they are given."""

CUTS_IN_PLACE = Pattern(r"\.detach_\(", words=(".detach_(",))
"""Words of functions after which what they were given may have no graph."""

DETACHES = Pattern(
    r"detach|\.data\b|\.item\(|def (?:\w*_)?(?:update|add|append|push|record|accumulate)\w*\(",
    words=("detach", ".data", ".item(", "def "),
)
"""Words of small functions that hand tensors on, or keep them."""

NO_GRADIENTS = Pattern(
    r"no_grad|inference_mode|set_grad_enabled"
    r"|\([^()\r\n]*[<>=!]=?[^()\r\n]*\)\.(?:float|sum|mean|long|int|to|type)\(",
    words=("no_grad", "inference_mode", "set_grad_enabled", ")."),
)
"""Words of functions that compute without gradients, or what has none: `(out > 0).float()`."""

WINDOW = Pattern(r"(?i)accum|grad_acc|acc_step|micro|ga_steps")
"""Names for the number of micro-batches in a window."""

"""What trains wrongly without a word: seen in the first windows, and told once each.

A warning that is wrong is worse than none: what could be meant is told only where the same thing in
a correct loop is next to impossible, and each can be silenced by its name.
"""

from __future__ import annotations

import gc
import warnings
from typing import Any

from torch import Tensor, nn
from torch.nn.modules import batchnorm, dropout
from torch.optim import Optimizer

from gradledger.engine.loss_nodes import Reading, read
from gradledger.engine.options import Doubt, Options
from gradledger.engine.ownership import Ownership
from gradledger.engine.parties import evaluates
from gradledger.engine.places import outside
from gradledger.engine.scaling import Scaling
from gradledger.engine.window import Window
from gradledger.errors import StepperWarning

_DROPOUTS: Any = getattr(dropout, "_DropoutNd", None) or (
    *(nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout),
    nn.FeatureAlphaDropout,
)
_NORMS: Any = getattr(batchnorm, "_NormBase", None) or (
    *(nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm),
    *(nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d),
)
_LIKELIHOODS = ("NllLoss", "BinaryCrossEntropy")
WINDOWS = 2
"""So many are looked at closely."""
MOST = 32
"""Micro-batches of a window that are looked at: who divides, divides them all."""


class Doubts:
    """Looks at losses before they walk back."""

    def __init__(
        self, ownership: Ownership, scaling: Scaling, options: Options, window: Window
    ) -> None:
        self._ownership = ownership
        self._scaling = scaling
        self._window = window
        self._silent: set[str] = set(options.allow)
        if any(map(evaluates, ownership.optimizers)):
            self._silent.add("eval")  # it compares losses, and dropout would make each another
        self._enough = min(window.size, MOST)
        self._divided: list[bool] = []
        self._ratio: tuple[float, float] | None = None
        """Of the micro-batch before: of how many it was the mean, and its items."""
        self._owners_wanted = True

    def look(self, loss: Tensor, updates: int) -> None:
        """At one loss. Quick, after the first windows."""
        model, turn = self._ownership.model, self._window.turn
        if not model.training and "eval" not in self._silent and _matters(model):
            self._tell(
                "eval",
                "the model is in eval mode, so that its dropout and batch norms do not train as "
                "they should. Call model.train() before the loop, and after every evaluation.",
            )
        if updates and self._owners_wanted:
            self._owners_wanted = False
            self._look_for_owners(loss)
        looking = len(self._divided) < WINDOWS * self._enough
        if looking and turn is not None and not turn.pending:
            self._read(loss, turn.items)

    def _read(self, loss: Tensor, items: float | None) -> None:
        found = read(loss, self._scaling.scaler)
        if found.scaled:
            self._tell(
                "scaled",
                "the loss is multiplied by a GradScaler's scale already, and what the Stepper "
                "spends would be that much too large. Write stepper.backward(loss), without "
                "scaler.scale(loss), and give the scaler to Stepper(…, scaler=scaler).",
            )
        size = self._window.size
        self._divided.append(size > 1 and _divides(found, size))
        seen = len(self._divided)
        if seen == self._enough and all(self._divided):
            self._tell(
                "divided",
                f"each loss is divided by {size} already, and the Stepper divides the window by "
                f"itself: its gradient is {size} times too small. Write stepper.backward(loss), "
                f"without / {size}.",
            )
        elif seen == WINDOWS * self._enough and 0 < sum(self._divided) < seen:
            self._tell(
                "factors",
                f"{sum(self._divided)} of the first {seen} losses are divided by "
                f"{size} and the others are not, so that they weigh {size} times less. Pass each "
                "loss as it is: the Stepper weighs by items.",
            )
        self._compare(found, items)

    def _compare(self, found: Reading, items: float | None) -> None:
        """Items may be anything in proportion to the loss's own count: rows for elements, say."""
        before, self._ratio = self._ratio, None
        if items is None or not found.mean_of or self._window.size == 1 or found.divisors:
            return
        self._ratio = found.mean_of, items
        if before is None or not self._window.deposits or not _is_near(self._ratio, found):
            return
        if abs(before[0] * items - found.mean_of * before[1]) > 1e-6 * found.mean_of * before[1]:
            self._tell(
                "items",
                f"this loss is the mean of {found.mean_of:g} and came with items={items:g}, the "
                f"one before it is the mean of {before[0]:g} and came with items={before[1]:g}: "
                "they do not fit each other, so the update is not that of the big batch. Pass the "
                "number that the mean is taken over, (labels != -100).sum() for tokens.",
            )

    def _look_for_owners(self, loss: Tensor) -> None:
        ownership = self._ownership
        ours = set(map(id, ownership.parameters()))
        free = {
            id(p): name
            for name, p in ownership.model.named_parameters()
            if p.requires_grad and id(p) not in ours
        }
        sharded = any(hasattr(p, "device_mesh") for p in ownership.parameters())
        # Between forward and backward, a sharded module has other tensors in their place.
        if not free or sharded or "unowned" in self._silent:
            return
        reached = _leaves(loss) & free.keys()
        for optimizer in gc.get_objects() if reached else ():
            if issubclass(type(optimizer), Optimizer):  # which asks nobody
                reached -= {id(p) for group in optimizer.param_groups for p in group["params"]}
        if reached:
            names = [free[each] for each in free if each in reached]
            more = f" and {len(names) - 2} more" if len(names) > 2 else ""
            self._tell(
                "unowned",
                f"no optimizer has {', '.join(names[:2])}{more}, which the loss leads to: nothing "
                "trains it. Pass it to the optimizer, or freeze it with requires_grad_(False).",
            )

    def _tell(self, doubt: Doubt, text: str) -> None:
        if doubt not in self._silent:
            self._silent.add(doubt)
            warnings.warn(
                f"{text} If it is meant: Stepper(…, allow=[{doubt!r}]).",
                StepperWarning,
                stacklevel=outside(),
            )


def _divides(found: Reading, size: int) -> bool:
    """Whether somebody divided by the number of micro-batches, as for a plain loop."""
    hits = [each for each in found.divisors if abs(each - size) <= 1e-6 * size]
    if not hits or found.terms == size:  # the mean of so many losses
        return False
    # Halves are everywhere: of squares, of pairs. A likelihood has none of its own.
    return size > 2 or (not found.multiplied and found.reduction.startswith(_LIKELIHOODS))


def _is_near(ratio: tuple[float, float], found: Reading) -> bool:
    """A mean of means over sequences may be weighed by tokens; a likelihood has its own count."""
    count, items = ratio
    return found.reduction.startswith(_LIKELIHOODS) or 0.5 <= count / items <= 2.0


def _matters(model: nn.Module) -> bool:
    """Whether any layer does something else in eval mode, and none is trained as it should."""
    layers = list(model.modules())
    return not any(layer.training for layer in layers) and any(
        (isinstance(layer, _DROPOUTS) and layer.p > 0)
        or (isinstance(layer, _NORMS) and layer.track_running_stats)
        for layer in layers
    )


def _leaves(loss: Tensor) -> set[int]:
    """Whom the graph leads to."""
    found: set[int] = set()
    seen, waiting = set(), [loss.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            found.add(id(getattr(node, "variable", None)))
            waiting += [each for each, _ in node.next_functions]
    return found

"""ExactTrainer: a transformers Trainer whose windows are those of the big batch, for any mean loss.

The Trainer draws a window before it trains on it, so that its items can be counted first. Each loss
then stays the mean of its own micro-batch, and is weighed by its part of the window's items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal

from gradledger.errors import LossError, NonFiniteGradient, OptionError
from gradledger.integrations.framework_audit import required

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import Trainer
else:
    Trainer = object

OnNonFinite = Literal["raise", "allow"]
_IGNORED = -100


@dataclass
class _Window:
    """The items that a window has on all ranks, and those that have their gradient here."""

    items: int = 0
    counts: dict[int, int] = field(default_factory=dict)
    """Those of each micro-batch, by its id."""
    arrived: int = 0


class _Exact(Trainer):
    """What an ExactTrainer does otherwise than a Trainer."""

    loss_is_scaled_for_ga = False  # the Trainer is to divide each loss, by what stands there

    def __init__(self, *args: Any, on_nonfinite: OnNonFinite = "raise", **options: Any) -> None:
        if on_nonfinite not in ("raise", "allow"):
            raise OptionError(f"on_nonfinite must be 'raise' or 'allow', got {on_nonfinite!r}.")
        super().__init__(*args, **options)
        if self.args.n_gpu > 1:
            raise OptionError(
                f"DataParallel over {self.args.n_gpu} GPUs averages parts of a batch whose items "
                "are not counted. Launch one process for each GPU: torchrun train.py."
            )
        self.on_nonfinite = on_nonfinite
        self._window, self._items = _Window(), 0
        self._held_back: list[Any] = []
        self._data: object = None
        if self.compute_loss_func is not None:
            self.compute_loss_func = partial(self._own_mean, self.compute_loss_func)

    def count_items(self, inputs: Mapping[str, Any]) -> int:
        """How many items the loss of this micro-batch is the mean of.

        Labels that are not -100; samples, where there are no labels or several kinds. Override it
        for a loss that is the mean of something else.
        """
        names = {"labels", *self.label_names}  # a compute_loss_func has labels of its own
        labels = [inputs[name] for name in names if inputs.get(name) is not None]
        if "shift_labels" in inputs:
            labels = [inputs["shift_labels"]]
        elif len(labels) == 1 and hasattr(labels[0], "ne") and self._loss_shifts_labels:
            labels = [labels[0][..., 1:]]
        if len(labels) == 1 and hasattr(labels[0], "ne"):
            return int(labels[0].ne(_IGNORED).sum())
        sizes = [len(value) for value in inputs.values() if hasattr(value, "__len__")]
        if not sizes:
            raise LossError(
                "the items of this micro-batch can't be counted: override count_items(inputs)."
            )
        return sizes[0]

    def get_batch_samples(
        self, epoch_iterator: Iterator[Any], num_batches: int, device: Any
    ) -> tuple[list[Any], Any]:
        """The micro-batches of a window. Each loss will be the mean of its own items."""
        held, self._held_back = self._held_back, []
        drawn, _ = super().get_batch_samples(epoch_iterator, num_batches - len(held), device)
        begun, self._data = self._data is epoch_iterator, epoch_iterator
        drawn = held + drawn
        if 0 < len(drawn) < num_batches:
            # Data without a length has ended: the Trainer makes no step now, and would spend this
            # with the next epoch's first window.
            if not begun:
                raise OptionError(
                    f"the data has ended before the {num_batches} micro-batches of a window, so "
                    "that the Trainer would stop here. Lower gradient_accumulation_steps, or give "
                    "the dataset a __len__."
                )
            self._held_back = drawn
            return [], None
        counts = {id(batch): self.count_items(batch) for batch in drawn}
        items = sum(counts.values())
        if drawn and self.accelerator.num_processes > 1:
            import torch

            items = int(self.accelerator.reduce(torch.tensor(items, device=device), "sum"))
        self._window = _Window(items, counts)
        return drawn, None

    def training_step(
        self, model: nn.Module, inputs: dict[str, Any], num_items_in_batch: Any = None
    ) -> Tensor:
        """One micro-batch. The last of a window makes the window's gradient complete."""
        before = [(id(p.grad), _version(p.grad)) for p in model.parameters()]
        try:
            loss = self._deposit(model, inputs)
        except BaseException:
            if before != [(id(p.grad), _version(p.grad)) for p in model.parameters()]:
                model.zero_grad()  # a part of it is in there, and can't be taken out
                self._window.arrived = 0
            if self.accelerator.sync_gradients:
                self._complete(model)
            raise
        if self.accelerator.sync_gradients:
            self._complete(model)
        return loss

    def _deposit(self, model: nn.Module, inputs: dict[str, Any]) -> Tensor:
        window = self._window
        known = window.counts.get(id(inputs))
        items = self.count_items(inputs) if known is None else known
        if items == 0 and self.accelerator.num_processes == 1:
            import torch

            return torch.zeros((), device=self.args.device)  # the mean of nothing is NaN
        self._items = items
        usual: Any = self.current_gradient_accumulation_steps
        # DistributedDataParallel averages over ranks.
        share = items * self.accelerator.num_processes
        divisor: Any = window.items / share if share else float("inf")
        self.current_gradient_accumulation_steps = divisor
        try:
            loss: Tensor = super().training_step(model, inputs, None)
        finally:
            self.current_gradient_accumulation_steps = usual
        window.arrived += items
        return loss

    def _complete(self, model: nn.Module) -> None:
        """Before the Trainer clips and steps: the items that failed do not count."""
        import torch

        window = self._window
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        if self.accelerator.num_processes == 1 and 0 < window.arrived < window.items:
            for gradient in gradients:
                gradient.mul_(window.items / window.arrived)
        if self.on_nonfinite == "allow" or self.accelerator.scaler is not None:
            return
        device = self.args.device
        dense = [g for g in gradients if g.layout is torch.strided]
        # Read once: each read waits for the device.
        if not dense or bool(torch.stack([g.isfinite().all().to(device) for g in dense]).all()):
            return
        names = [n for n, p in model.named_parameters() if p.grad is not None]
        wrong = [
            n
            for n, g in zip(names, gradients, strict=True)
            if g.layout is torch.strided and not g.isfinite().all()
        ]
        model.zero_grad()
        raise NonFiniteGradient(
            f"the gradient of step {self.state.global_step + 1} is NaN or Inf in {wrong[0]} (and "
            f"{len(wrong) - 1} others). The weights have not moved. To go on from the last "
            "checkpoint: trainer.train(resume_from_checkpoint=True). To step all the same: "
            "ExactTrainer(…, on_nonfinite='allow')."
        )

    def _own_mean(
        self, given: Any, outputs: Any, labels: Any, num_items_in_batch: Any = None
    ) -> Tensor:
        """The user's loss function, told the items of the micro-batch: it gives their mean."""
        if num_items_in_batch is None:
            import torch

            num_items_in_batch = torch.tensor(self._items, device=self.args.device)
        loss: Tensor = given(outputs, labels, num_items_in_batch=num_items_in_batch)
        return loss


def _version(gradient: Tensor | None) -> int:
    return -1 if gradient is None else gradient._version


@cache
def exact_trainer() -> type:
    """The class; transformers is imported for it."""
    what = "ExactTrainer"
    found = required("transformers", least=(5, 22), what=what, install="transformers")
    made = {"__module__": "gradledger.integrations.transformers", "__doc__": __doc__}
    return type(what, (_Exact, found.Trainer), made)

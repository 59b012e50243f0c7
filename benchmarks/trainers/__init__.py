"""The trainers that people use, each as its own documentation says, behind one small protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader

from benchmarks.tasks import Way

Batch = tuple[Tensor, Tensor]
IGNORED = -100


class NotOffered(Exception):
    """The trainer has no way to do this, or none on this machine. The message says what."""


@dataclass
class Work:
    """A model to train on some micro-batches, and all that a trainer is asked to mind.

    `criterion(prediction, y, reduction=…)` is a loss as torch has them. Labels of -100 count for
    nothing, so that the items of a micro-batch are its other labels.
    """

    model: nn.Module
    optimizer: Optimizer
    data: DataLoader[Batch]
    criterion: Callable[..., Tensor]
    window: int = 4
    clip: float | None = None
    scheduler: LRScheduler | None = None
    half: bool = False
    """Whether the forward pass is in fp16, with a GradScaler."""

    catches: tuple[type[Exception], ...] = ()
    """What the user catches, in order to go on with the next micro-batch."""

    meddle: Callable[[int, Any], None] = lambda count, optimizer: None
    """The user's own code after each micro-batch, with the optimizer that the trainer shows him."""

    def scaler(self) -> GradScaler:
        """Small enough at first for no gradient of these models to overflow."""
        return GradScaler("cpu", init_scale=256.0, enabled=self.half)

    def autocast(self) -> torch.autocast:
        return torch.autocast("cpu", torch.float16, enabled=self.half)


@dataclass
class Pair:
    """Two nets that learn from each other, each with an optimizer of its own."""

    generator: nn.Module
    critic: nn.Module
    generator_optimizer: Optimizer
    critic_optimizer: Optimizer
    data: DataLoader[Batch]
    """Noise for the generator, and what is real."""

    critic_first: bool
    window: int = 4

    def turns(self, noise: Tensor, real: Tensor) -> list[tuple[str, Callable[[], Tensor]]]:
        """Whose turn it is, and how to get the loss when it is.

        Both losses are of the same fake, made before any net has moved.
        """
        made: list[Tensor] = []

        def generator() -> Tensor:
            fake = self.generator(noise)
            made.append(fake.detach())
            return self._judged(fake, 1.0)

        def critic() -> Tensor:
            fake = made[0] if made else self.generator(noise).detach()
            return self._judged(real, 1.0) + self._judged(fake, 0.0)

        turns = [("generator", generator), ("critic", critic)]
        return turns[::-1] if self.critic_first else turns

    def optimizers(self) -> dict[str, Optimizer]:
        return {"generator": self.generator_optimizer, "critic": self.critic_optimizer}

    def _judged(self, what: Tensor, as_if: float) -> Tensor:
        judged = self.critic(what)
        return binary_cross_entropy_with_logits(judged, torch.full_like(judged, as_if))


class Trainer(Protocol):
    """Trains in place. Each method raises NotOffered where the trainer has nothing for it."""

    how: ClassVar[dict[str, str]]
    """What a user does, and where the trainer's documentation says so.

    By topic: `train`, and where there is more to say `half`, `catch`, `save` and `two`.
    """

    def train(self, work: Work) -> None:
        """One pass over the data."""

    def train_two(self, pair: Pair) -> None:
        """One pass over the data, for both nets."""

    def train_and_save(self, work: Work, count: int, folder: Path) -> None:
        """Stops after so many micro-batches. What was saved by then is in the folder."""

    def resume(self, work: Work, folder: Path) -> None:
        """The rest of the pass, with new objects."""


TRAINERS = {
    "plain loop": "plain:PlainLoop",
    "plain loop, with every care": "by_hand:ByHand",
    "Stepper": "stepper:WithStepper",
    "Accelerate": "accelerator:WithAccelerate",
    "Accelerate, items counted": "accelerator:WithAccelerateItems",
    "Accelerate, gradledger": "accelerator:WithAccelerateStepper",
    "Fabric": "fabric:WithFabric",
    "Lightning Trainer": "lightning_trainer:LightningTrainer",
    "Lightning Trainer, gradledger": "lightning_trainer:LightningExact",
    "HF Trainer": "hf_trainer:HFTrainer",
    "HF Trainer, items counted": "hf_trainer:HFTrainerItems",
    "HF Trainer, gradledger": "hf_trainer:HFTrainerExact",
    "ignite": "ignite_engine:WithIgnite",
}
"""Two names for a trainer that documents an exact way besides its usual one, and another for what
gradledger has for it."""

PACKAGES = ("torch", "gradledger", "accelerate", "lightning", "transformers", "pytorch-ignite")


def trainer(name: str) -> Trainer:
    """Raises ImportError where it is not installed."""
    module, made = TRAINERS[name].split(":")
    found: Trainer = getattr(import_module(f"benchmarks.trainers.{module}"), made)()
    return found


def ways() -> tuple[dict[str, Way], dict[str, str]]:
    """For the stop-watch: the usual way of each peer, and why others have none."""
    found, missing = {}, {}
    for name in TRAINERS:
        module = TRAINERS[name].split(":")[0]
        if module not in ("plain", "by_hand", "stepper") and "," not in name:
            try:
                found[name] = import_module(f"benchmarks.trainers.{module}").loop
            except ImportError as error:
                missing[name] = f"not installed: {error}"
    return found, missing


def items(y: Tensor) -> int:
    return int((y != IGNORED).sum())


def draws(data: DataLoader[Batch], catches: tuple[type[Exception], ...]) -> Iterator[Batch]:
    """What the data yields. After a fault that the user catches, the next."""
    batches = iter(data)
    while True:
        try:
            yield next(batches)
        except StopIteration:
            return
        except catches:
            continue

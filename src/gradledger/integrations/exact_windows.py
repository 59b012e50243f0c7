"""ExactWindows: a mixin for LightningModules whose `training_step` gives its losses to a Stepper.

Manual optimization, in which Lightning neither divides, clips, steps nor schedules: the Stepper
does. Lightning is not imported: who has a LightningModule has imported it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from gradledger.errors import CheckpointError, MisuseError, OptionError

if TYPE_CHECKING:
    from lightning.pytorch import LightningModule
    from torch.optim import Optimizer

    from gradledger.engine.stepper import Stepper
else:
    LightningModule = object

_KEY = "gradledger"


class ExactWindows(LightningModule):
    """`class Net(ExactWindows, LightningModule)`, with a Stepper for each optimizer.

    ```python
    def __init__(self):
        super().__init__(accumulate=4, clip_norm=1.0)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = mse_loss(self.net(x), y)
        self.stepper.backward(loss, items=len(y))
        return loss
    ```
    """

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.automatic_optimization = False
        self._stepper_options = options
        self._steppers: list[Stepper] = []
        self._optimizers_of_fit: object = None
        self._counting: list[Any] = []
        self._loaded: Sequence[Mapping[str, Any]] | None = None
        self._pass: Any = None
        self._at_end = False
        """What was loaded was saved after the last batch of an epoch, and before its end."""

    # What the user calls ------------------------------------------------------------------------

    @property
    def stepper(self) -> Stepper:
        """The Stepper, where there is one."""
        if len(self.steppers) != 1:
            raise MisuseError(
                f"this module has {len(self.steppers)} Steppers. Take one of them: "
                "first, second = self.steppers."
            )
        return self.steppers[0]

    @property
    def steppers(self) -> list[Stepper]:
        """All of them, in the order of `configure_steppers`."""
        optimizers = self.trainer.optimizers
        if self._optimizers_of_fit is not optimizers:
            self._begin_fit(optimizers)
        return self._steppers

    def configure_steppers(self) -> list[Stepper]:
        """One for each optimizer. Override it for other options, or for optimizers that share one:

        `return [self.make_stepper(self.trainer.optimizers)]`.
        """
        return [self.make_stepper(optimizer) for optimizer in self.trainer.optimizers]

    def make_stepper(self, optimizers: Optimizer | list[Optimizer], **options: Any) -> Stepper:
        """A Stepper with the module's options, the Trainer's GradScaler and its schedulers."""
        from gradledger.engine.stepper import Stepper

        owned = optimizers if isinstance(optimizers, list) else [optimizers]
        schedulers = [
            config.scheduler
            for config in self._schedulers("step")
            if any(config.scheduler.optimizer is optimizer for optimizer in owned)
        ]
        scaler = getattr(self.trainer.precision_plugin, "scaler", None)
        chosen: dict[str, Any] = {"scaler": scaler, "scheduler": schedulers}
        chosen |= self._stepper_options | options
        return Stepper(self, owned, **chosen)

    def over(self, loader: Any) -> _Batches:
        """`trainer.fit(module, module.over(loader))`: the loader, drawn by the Steppers.

        They then know of each micro-batch when it begins: of those that fail, of other nets' losses
        in it, and where to go on after a checkpoint.
        """
        if not hasattr(loader, "__len__"):
            raise OptionError(
                "Lightning draws from a loader without a length ahead, so that the Stepper can't "
                "tell which batch is trained. Give it a __len__, or leave over() out."
            )
        return _Batches(self, loader)

    # What Lightning calls -------------------------------------------------------------------------

    def on_train_epoch_end(self) -> None:
        """The last window ends with the data, with its right weight."""
        for stepper in self.steppers:
            if self._pass is None or not self.trainer.is_last_batch:
                stepper.flush()
        if self._pass is not None and self.trainer.is_last_batch:
            next(self._pass, None)
        self._pass = None
        for config in self._schedulers("epoch"):
            if (self.trainer.current_epoch + 1) % config.frequency == 0:
                config.scheduler.step()
        super().on_train_epoch_end()

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """The open window, and the place in the data."""
        if self._optimizers_of_fit is not None:
            checkpoint[_KEY] = [stepper.state_dict() for stepper in self._steppers]
        super().on_save_checkpoint(checkpoint)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Goes on from there, when the optimizers have what is theirs."""
        self._loaded = checkpoint.get(_KEY)
        super().on_load_checkpoint(checkpoint)

    # ----------------------------------------------------------------------------------------------

    def _begin_fit(self, optimizers: list[Optimizer]) -> None:
        if self.trainer.world_size > 1:
            raise OptionError(
                "ExactWindows trains in one process, and this Trainer has "
                f"{self.trainer.world_size}. A plain loop with a Stepper goes over many ranks."
            )
        for handle in self._counting:
            handle.remove()
        self._optimizers_of_fit = optimizers
        self._pass = None
        self._steppers = list(self.configure_steppers())
        progress = self.trainer.fit_loop.epoch_loop.manual_optimization.optim_step_progress
        counts = partial(_count, progress)
        self._counting = [each.register_step_post_hook(counts) for each in optimizers]
        states, self._loaded = self._loaded, None
        if states is None or self.trainer.ckpt_path is None:  # only the weights were loaded
            return
        if len(states) != len(self._steppers):
            raise CheckpointError(
                f"the checkpoint has the states of {len(states)} Steppers, and this module has "
                f"{len(self._steppers)}."
            )
        for stepper, state in zip(self._steppers, states, strict=True):
            stepper.load_state_dict(state)
        places = [state["position"] for state in states]
        self._at_end = any(each["length"] and each["done"] >= each["length"] for each in places)

    def _schedulers(self, interval: str) -> Iterator[Any]:
        """Those that Lightning would move at this interval. A plateau's is the user's to move."""
        for config in self.trainer.lr_scheduler_configs:
            if config.interval != interval or config.reduce_on_plateau:
                continue
            if interval == "step" and config.frequency != 1:
                raise OptionError(
                    "a scheduler with interval='step' moves once per update here, and this one has "
                    f"frequency={config.frequency}. Put the frequency into the schedule."
                )
            yield config

    def _draw(self, loader: Any) -> Iterator[Any]:
        """A pass of all Steppers, the last one's innermost."""
        steppers = self.steppers
        if self._pass is not None:
            raise MisuseError(
                "a second loader is drawn by the same Steppers in this epoch. Put over() around "
                "one loader; if you override on_train_epoch_end, call super().on_train_epoch_end()."
            )
        limit = self.trainer.num_training_batches
        batches: Any = _Limited(loader, len(loader) if limit == float("inf") else int(limit))
        for stepper in reversed(steppers):
            batches = stepper.over(batches)
        if self._at_end:
            self._at_end = False
            next(iter(batches), None)
            yield from self._draw(loader)
        else:
            self._pass = iter(batches)
            yield from self._pass


class _Batches:
    """A loader as Lightning sees it. Nothing begins before the first batch is drawn."""

    def __init__(self, module: ExactWindows, loader: Any) -> None:
        self._module = module
        self.loader = loader

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[Any]:
        return self._module._draw(self.loader)

    def state_dict(self) -> dict[str, Any]:
        """Empty: the module's checkpoint has the place. It tells Lightning that one is kept."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Nothing is in it."""


class _Limited:
    """As many batches of a loader as the Trainer wants."""

    def __init__(self, loader: Any, limit: int) -> None:
        self.loader = loader
        self.limit = limit

    def __len__(self) -> int:
        return self.limit

    def __iter__(self) -> Iterator[Any]:
        return islice(iter(self.loader), self.limit)


def _count(progress: Any, *_: Any) -> None:
    """Lightning counts steps, for `global_step`, where it makes them itself."""
    progress.increment_ready()
    progress.increment_completed()

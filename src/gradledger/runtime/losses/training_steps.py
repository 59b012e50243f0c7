"""Training steps of frameworks: which function made a loss, and does the framework divide it?

The Trainer of Transformers, Lightning and ignite call `backward` themselves. By then the program's
`compute_loss` or `training_step` has returned; the framework's own frame still knows it.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from functools import partial
from types import CodeType, FrameType, FunctionType, MethodType
from typing import NamedTuple

from torch import nn

from gradledger.runtime.program.variables import variables

MOST_FRAMES = 100
"""A framework's own frame is near the top."""


class TrainingStep(NamedTuple):
    """What a framework tells of the pass that it is making."""

    framework: str
    makers: tuple[object, ...]
    """What may have made the loss, the outermost first: functions, modules."""
    window: int
    """Micro-batches in this window."""
    divides: bool
    """The framework has divided the loss by the window."""
    keeper: object = None
    """The object whose methods the program has written: it may hold on to losses."""
    drawn_ahead: bool = False
    """All batches of a window are drawn before its first pass."""


Reader = Callable[[Mapping[str, object]], TrainingStep | None]
"""Makes it of the variables of the framework's frame."""


class TrainingSteps:
    """Finds the frame of a framework that makes a pass."""

    def __init__(self) -> None:
        self._readers: dict[int, Reader | None] = {}
        self._codes: list[CodeType] = []
        """Kept alive, so that no other code is ever taken for one of them."""

    def read(self, frame: FrameType | None) -> TrainingStep | None:
        """What the framework tells that is running here; None where none is."""
        for _ in range(MOST_FRAMES):
            if frame is None:
                return None
            code = frame.f_code
            try:
                reader = self._readers[id(code)]
            except KeyError:
                reader = self._readers[id(code)] = _reader(code)
                self._codes.append(code)
            if reader is not None and (step := reader(variables(frame))) is not None:
                return step
            frame = frame.f_back
        return None


def _reader(code: CodeType) -> Reader | None:
    reader = _READERS.get(code.co_name)
    return reader[1] if reader and code.co_filename.endswith(reader[0]) else None


def _transformers(told: Mapping[str, object]) -> TrainingStep | None:
    """`Trainer.training_step`."""
    trainer = told.get("self")
    held = _attributes(trainer)
    args = _attributes(held.get("args"))
    window = held.get("current_gradient_accumulation_steps")
    if not isinstance(window, int):  # before the Trainer counted
        window = args.get("gradient_accumulation_steps")
    if not isinstance(window, int):
        return None
    scaled = told.get("loss_is_scaled_for_ga")
    if scaled is None:  # before the Trainer kept it in a variable
        takes = held.get("model_accepts_loss_kwargs") and told.get("num_items_in_batch") is not None
        scaled = takes or held.get("compute_loss_func") is not None
    makers = (_method(trainer, "compute_loss"), held.get("compute_loss_func"), held.get("model"))
    return TrainingStep(
        "transformers", makers, window, divides=not scaled, keeper=trainer, drawn_ahead=True
    )


def _lightning(told: Mapping[str, object]) -> TrainingStep | None:
    """`_AutomaticOptimization.run`."""
    trainer = _attributes(_attributes(told.get("self")).get("trainer"))
    window = trainer.get("accumulate_grad_batches")
    connector = _attributes(trainer.get("_accelerator_connector"))
    strategy = _attributes(connector.get("strategy"))
    module = strategy.get("_lightning_module")
    if not isinstance(window, int) or module is None:
        return None
    makers = (_method(module, "training_step"),)
    return TrainingStep("lightning", makers, window, divides=True, keeper=module)


def _ignite(told: Mapping[str, object]) -> TrainingStep | None:
    """The update function of `create_supervised_trainer`."""
    window = told.get("gradient_accumulation_steps")
    if not isinstance(window, int) or "loss_fn" not in told:
        return None
    return TrainingStep("ignite", (told["loss_fn"],), window, divides=window > 1)


_READERS: dict[str, tuple[tuple[str, ...], Reader]] = {
    "training_step": ((os.path.join("transformers", "trainer.py"),), _transformers),
    "run": (
        (
            os.path.join("lightning", "pytorch", "loops", "optimization", "automatic.py"),
            os.path.join("pytorch_lightning", "loops", "optimization", "automatic.py"),
        ),
        _lightning,
    ),
    "update": ((os.path.join("ignite", "engine", "__init__.py"),), _ignite),
}
"""For functions of frameworks, by their names: the ends of their files' paths, and the reader."""


def _attributes(thing: object) -> dict[str, object]:
    """An object's own ones, with no code of its class run."""
    try:
        found = object.__getattribute__(thing, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}


def _method(thing: object, name: str) -> object:
    """What the object's class defines by that name."""
    found = inspect.getattr_static(type(thing), name, None)
    return _attributes(thing).get(name, found)


def code_of(maker: object) -> CodeType | None:
    """The code that runs when this is called; a module runs its `forward`."""
    for _ in range(10):
        if isinstance(maker, FunctionType):
            wrapped = vars(maker).get("__wrapped__")
            if wrapped is None:
                return maker.__code__
            maker = wrapped
        elif isinstance(maker, MethodType | staticmethod | classmethod):
            maker = maker.__func__
        elif isinstance(maker, partial):
            maker = maker.func
        elif isinstance(maker, nn.Module):
            inner = maker._modules.get("module")  # of DataParallel and the like
            maker = inner if inner is not None else inspect.getattr_static(type(maker), "forward")
        elif maker is None:
            return None
        else:
            maker = inspect.getattr_static(type(maker), "__call__", None)
    return None

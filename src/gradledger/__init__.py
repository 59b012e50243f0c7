"""Double-entry bookkeeping for PyTorch gradients.

Every `backward()` deposits, every `optimizer.step()` spends, every `zero_grad()` clears. gradledger
keeps the books. Importing it patches nothing and does not load torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradledger.errors import (
    CheckpointError,
    GradledgerError,
    InternalError,
    LossError,
    MissingTorchError,
    MisuseError,
    NonFiniteGradient,
    OptionError,
    RecordingError,
    StepperWarning,
    TornUpdateError,
    UnknownRuleError,
)

if TYPE_CHECKING:
    from gradledger.engine import Stepper

__all__ = [
    "CheckpointError",
    "GradledgerError",
    "InternalError",
    "LossError",
    "MissingTorchError",
    "MisuseError",
    "NonFiniteGradient",
    "OptionError",
    "RecordingError",
    "Stepper",
    "StepperWarning",
    "TornUpdateError",
    "UnknownRuleError",
    "__version__",
]

__version__: str
"""The installed version. Looked up when asked for: importlib.metadata costs more than all of us."""


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("gradledger")
    if name == "Stepper":
        from gradledger.torch_extra import require_torch

        require_torch("gradledger.Stepper")
        from gradledger.engine import Stepper

        globals()[name] = Stepper  # the next look finds it without coming here
        return Stepper
    raise AttributeError(f"module 'gradledger' has no attribute {name!r}")

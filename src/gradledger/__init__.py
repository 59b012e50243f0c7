"""Double-entry bookkeeping for PyTorch gradients.

Every `backward()` deposits, every `optimizer.step()` spends, every `zero_grad()` clears. gradledger
keeps the books. Importing it patches nothing and does not load torch.
"""

from __future__ import annotations

from gradledger.errors import (
    GradledgerError,
    InternalError,
    MissingTorchError,
    RecordingError,
    UnknownRuleError,
)

__all__ = [
    "GradledgerError",
    "InternalError",
    "MissingTorchError",
    "RecordingError",
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
    raise AttributeError(f"module 'gradledger' has no attribute {name!r}")

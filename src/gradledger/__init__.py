"""Double-entry bookkeeping for PyTorch gradients.

Every `backward()` deposits, every `optimizer.step()` spends, every `zero_grad()` clears. gradledger
keeps the books. Importing it patches nothing and does not load torch.
"""

from __future__ import annotations

from gradledger.errors import (
    CheckpointError,
    GradledgerError,
    InternalError,
    LawBroken,
    LossError,
    MissingTorchError,
    MisuseError,
    NonFiniteGradient,
    OptionError,
    RankFailure,
    RecordingError,
    StepperWarning,
    TornUpdateError,
    UnknownRuleError,
    WindowNotEqual,
)

TYPE_CHECKING = False  # what typing would say, which takes longer to load than all of us
if TYPE_CHECKING:
    from typing import Any

    from gradledger.engine import Stepper
    from gradledger.runtime.audit import audit
    from gradledger.runtime.window_equality import assert_window_equals_batch

__all__ = [
    "CheckpointError",
    "GradledgerError",
    "InternalError",
    "LawBroken",
    "LossError",
    "MissingTorchError",
    "MisuseError",
    "NonFiniteGradient",
    "OptionError",
    "RankFailure",
    "RecordingError",
    "Stepper",
    "StepperWarning",
    "TornUpdateError",
    "UnknownRuleError",
    "WindowNotEqual",
    "__version__",
    "assert_window_equals_batch",
    "audit",
]

_NEEDS_TORCH = {
    "Stepper": "gradledger.engine",
    "assert_window_equals_batch": "gradledger.runtime.window_equality",
    "audit": "gradledger.runtime.audit",
}
"""Where each name that loads torch is found, when it is asked for."""

__version__: str
"""The installed version. Looked up when asked for: importlib.metadata costs more than all of us."""


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext gradledger`: the magics `%%gradledger` and `%gradledger check`."""
    _jupyter().load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext gradledger`."""
    _jupyter().unload(shell)


def _jupyter() -> Any:
    from importlib import import_module

    # By name: who imports this package does not depend on what integrates it elsewhere.
    return import_module("gradledger.integrations.jupyter")


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("gradledger")
    if name in _NEEDS_TORCH:
        from importlib import import_module

        from gradledger.torch_extra import require_torch

        require_torch(f"gradledger.{name}")
        found: object = getattr(import_module(_NEEDS_TORCH[name]), name)
        globals()[name] = found  # the next look finds it without coming here
        return found
    raise AttributeError(f"module 'gradledger' has no attribute {name!r}")

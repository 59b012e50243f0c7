"""torch is an extra: what needs it says so in one sentence, and nothing else loads it."""

from __future__ import annotations

import sys

from gradledger.errors import MissingTorchError

INSTALL = "pip install 'gradledger[torch]'"


def torch_is_installed() -> bool:
    """Looks for torch without importing it."""
    from importlib.util import find_spec

    # A module without a spec, as tests and tools put there, is one that find_spec refuses.
    return sys.modules.get("torch") is not None or find_spec("torch") is not None


def require_torch(what: str) -> None:
    """Raises MissingTorchError, which says how to get torch, unless torch is installed."""
    if not torch_is_installed():
        raise MissingTorchError(
            f"{what} needs PyTorch, which is not installed here: {INSTALL}", name="torch"
        )

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from gradledger.runtime.children.triggers import Triggers


def test_a_pass_of_distributed_autograd_is_training(monkeypatch: pytest.MonkeyPatch) -> None:
    dist_autograd: Any = import_module("torch.distributed.autograd")
    monkeypatch.setattr(dist_autograd, "backward", lambda context, losses: (context, losses))
    plain, fired = dist_autograd.backward, list[bool]()
    triggers = Triggers(lambda: fired.append(True))
    try:
        assert dist_autograd.backward(7, []) == (7, [])
        assert fired == [True]
        assert dist_autograd.backward is plain
    finally:
        triggers.close()

"""DeepSpeed's ZeRO, by a stand-in that does to gradients what it does: no DeepSpeed is needed."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import gradledger
from gradledger.runtime.frameworks.deepspeed_zero import ENGINE, KINDS, UNKNOWN

WINDOW, STEPS = 4, 5
STAGE_1, (ZERO, _) = next(iter(KINDS.items()))


class DeepSpeedZeroOptimizer:
    """Copies each gradient into a flat one as soon as it is there, and sets it to None."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self.optimizer = optimizer
        self.bit16_groups = [group["params"] for group in optimizer.param_groups]
        self.overflow = False
        held = self.bit16_groups[0]
        self.flat = torch.cat([p.detach().flatten() for p in held]).requires_grad_()
        optimizer.param_groups[0]["params"] = [self.flat]
        self.flat.grad = torch.zeros_like(self.flat)
        optimizer.step()  # so that it makes its state
        self.sums = torch.zeros_like(self.flat)
        start = 0
        for p in held:
            p.register_post_accumulate_grad_hook(self.taking(start))
            start += p.numel()

    def taking(self, start: int) -> Any:
        def take(parameter: Tensor) -> None:
            assert parameter.grad is not None
            part = self.sums[start : start + parameter.numel()]
            part += parameter.grad.flatten() / WINDOW
            parameter.grad = None

        return take

    def step(self) -> None:
        if not self.overflow:
            self.flat.grad = self.sums.clone()
            self.optimizer.step()
            self.flat.grad = None
            values = torch.split(self.flat.detach(), [p.numel() for p in self.bit16_groups[0]])
            for p, value in zip(self.bit16_groups[0], values, strict=True):
                p.data.copy_(value.view_as(p))
        self.sums.zero_()


class DeepSpeedEngine:
    def __init__(self, model: nn.Module, optimizer: DeepSpeedZeroOptimizer) -> None:
        self.model, self.optimizer, self.passes = model, optimizer, 0
        self._config = SimpleNamespace(gradient_accumulation_steps=WINDOW)

    def backward(self, loss: Tensor) -> None:
        loss.backward()  # type: ignore[no-untyped-call]

    def step(self) -> None:
        self.passes += 1
        if self.passes % WINDOW == 0:
            self.optimizer.step()


@pytest.fixture(autouse=True)
def _loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, kind in ((STAGE_1, DeepSpeedZeroOptimizer), (ENGINE, DeepSpeedEngine)):
        module = ModuleType(name)
        setattr(module, kind.__name__, kind)
        monkeypatch.setitem(sys.modules, name, module)


def train(divisor: int = 1, overflows: int = 0) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    engine = DeepSpeedEngine(model, DeepSpeedZeroOptimizer(optimizer))
    for step in range(STEPS):
        engine.optimizer.overflow = step < overflows
        for _ in range(WINDOW):
            loss = nn.functional.mse_loss(model(torch.randn(3, 4)), torch.zeros(3, 2))
            engine.backward(loss / divisor if divisor > 1 else loss)
            engine.step()
    return model, optimizer


def values(trained: tuple[nn.Module, torch.optim.Optimizer]) -> list[Tensor]:
    return [p.detach() for p in trained[0].parameters()]


def test_what_zero_takes_is_deposited_and_spent() -> None:
    plain = values(train())
    with gradledger.audit() as book:
        kept = train()
        assert book.findings == ()
        assert book.tally.backwards == STEPS * WINDOW
        assert book.tally.entries == book.tally.spent == STEPS * WINDOW * len(plain)
        assert book.tally.steps == STEPS
        assert book.tally.lost == book.tally.wasted == book.tally.respent == 0
    assert book.journal.failure is None
    assert book.journal.parameters == len(plain)
    assert book.journal.unseen == ()
    assert all(map(torch.equal, plain, values(kept)))


def test_an_overflow_is_a_step_that_was_skipped() -> None:
    with gradledger.audit() as book:
        kept = train(overflows=2)
        assert book.findings == ()
    assert (book.tally.steps, book.tally.skipped_steps) == (STEPS - 2, 2)
    del kept


def test_who_divides_as_deepspeed_does_divides_twice() -> None:
    with gradledger.audit() as book:
        kept = train(divisor=WINDOW)
    assert [finding.rule for finding in book.findings] == ["GL303"]
    del kept


def test_a_zero_that_keeps_its_parameters_elsewhere_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(KINDS, STAGE_1, (ZERO, "another_name"))
    with gradledger.audit() as book:
        kept = train()
    assert [(one.what, one.why) for one in book.journal.unseen] == [("deposits", UNKNOWN)]
    del kept

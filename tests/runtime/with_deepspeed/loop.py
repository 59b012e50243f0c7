"""One training loop for every stage of ZeRO: right or with one planted fault."""

from __future__ import annotations

import logging
from typing import Any

import deepspeed  # type: ignore[import-not-found]
import torch
from torch import Tensor, nn

WINDOW, ROWS, WINDOWS = 4, 3, 8

deepspeed.utils.logger.setLevel(logging.ERROR)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x).relu())  # type: ignore[no-any-return]


def train(stage: int, how: tuple[str, ...]) -> tuple[int, list[Tensor]]:
    """How many backward passes were made, and what became of the parameters of this rank."""
    torch.manual_seed(0)
    net = Net()
    config: dict[str, Any] = {
        "train_micro_batch_size_per_gpu": ROWS,
        "gradient_accumulation_steps": WINDOW,
        "zero_optimization": {"stage": stage},
        "gradient_clipping": 1.0 if "clip" in how else 0.0,
        "bf16": {"enabled": "bf16" in how},
    }
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    engine, *_ = deepspeed.initialize(model=net, optimizer=optimizer, config=config)
    kind = torch.bfloat16 if "bf16" in how else torch.float32
    torch.manual_seed(1)
    kept: list[Tensor] = []
    passes = 0
    for i in range(WINDOW * WINDOWS + 2 * ("left over" in how)):
        x, y = torch.randn(ROWS, 4, dtype=kind), torch.randn(ROWS, 2, dtype=kind)
        loss = nn.functional.mse_loss(engine(x), y)
        if "divided twice" in how:
            loss = loss / WINDOW  # the division
        engine.backward(loss)  # the backward
        passes += 1
        if "cleared inside the window" in how:
            engine.zero_grad()  # the early clear
        if "graphs kept" in how:
            kept.append(loss)  # the list
        if "step once per window" not in how or i % WINDOW == WINDOW - 1:
            engine.step()
        if "stepped without the engine" in how and i % WINDOW == WINDOW - 1:
            optimizer.step()  # the other step
    return passes, [parameter.detach().clone() for parameter in net.parameters()]

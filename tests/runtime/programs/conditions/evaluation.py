"""Between the steps the model is evaluated, in each way that torch has for that."""

from __future__ import annotations

import torch
from torch import Tensor, nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)


@torch.no_grad()
def evaluate(x: Tensor) -> float:
    model.eval()
    loss = float(model(x).pow(2).mean())
    model.train()
    return loss


losses = []
for _ in range(5):
    x = torch.randn(8, 4)
    optimizer.zero_grad()  # the clear
    model(x).pow(2).mean().backward()
    with torch.inference_mode():
        losses.append(float(model(x).sum()))
    with torch.autograd.set_grad_enabled(False):
        losses.append(float(model(x).sum()))
    optimizer.step()  # GL101: without the clear
    losses.append(evaluate(x))
print(losses)

"""The gradient of the input is the result; it is cleared by hand for the next class."""
# mypy: ignore-errors

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)).eval()
x = torch.randn(1, 8, requires_grad=True)
maps = []

for wanted in range(3):
    score = model(x)[0, wanted]
    score.backward()
    maps.append(x.grad.abs().clone())
    x.grad.zero_()
    model.zero_grad()

"""A shadow of the weights follows the model, and is the one that is evaluated."""
# mypy: ignore-errors

import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class EMA:
    def __init__(self, model: nn.Module, decay: float) -> None:
        self.shadow, self.decay = copy.deepcopy(model).eval().requires_grad_(False), decay

    @torch.no_grad()
    def step(self, model: nn.Module) -> None:
        for s, p in zip(self.shadow.parameters(), model.parameters(), strict=True):
            s.lerp_(p, 1 - self.decay)


x = torch.randn(64, 4)
y = x.sum(dim=1, keepdim=True)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
model = nn.Linear(4, 1)
ema = EMA(model, decay=0.9)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for _epoch in range(3):
    for inputs, targets in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
        ema.step(model)
    print(nn.functional.mse_loss(ema.shadow(x), y).item())

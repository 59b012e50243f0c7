"""Evolution: a class with step() and zero_grad() that never sees a gradient."""
# mypy: ignore-errors

import torch
from torch import nn

torch.manual_seed(0)


class Evolution:
    def __init__(self, model: nn.Module, sigma: float) -> None:
        self.model, self.sigma, self.best = model, sigma, float("inf")

    def zero_grad(self) -> None:
        pass

    @torch.no_grad()
    def step(self, loss_fn: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
        old = [p.clone() for p in self.model.parameters()]
        for p in self.model.parameters():
            p.add_(self.sigma * torch.randn_like(p))
        loss = loss_fn(self.model(x), y).item()
        if loss < self.best:
            self.best = loss
        else:
            for p, o in zip(self.model.parameters(), old, strict=True):
                p.copy_(o)
        return self.best


x = torch.randn(64, 3)
y = x.sum(dim=1, keepdim=True)
model = nn.Linear(3, 1)
search = Evolution(model, sigma=0.1)
for _generation in range(20):
    search.zero_grad()
    search.step(nn.MSELoss(), x, y)

# fine-tuned by gradients after that
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _iteration in range(5):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()

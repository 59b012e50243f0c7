"""A closure that LBFGS evaluates as often as its line search needs."""
# mypy: ignore-errors

import torch
from torch import Tensor, nn

torch.manual_seed(0)
x = torch.randn(64, 4)
y = x @ torch.tensor([[1.0], [2.0], [-1.0], [0.5]])
model = nn.Linear(4, 1)
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=8, line_search_fn="strong_wolfe")


def closure() -> Tensor:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss


for _iteration in range(3):
    loss = optimizer.step(closure)
    print(f"loss {loss.item():.4f}")

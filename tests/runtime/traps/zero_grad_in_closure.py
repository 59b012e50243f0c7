"""A function that makes the training step hides the clear in what it returns."""
# mypy: ignore-errors

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def make_train_step(
    model: nn.Module, loss_fn: nn.Module, optimizer: torch.optim.Optimizer
) -> Callable[[Tensor, Tensor], float]:
    def train_step(x: Tensor, y: Tensor) -> float:
        model.train()
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    return train_step


x = torch.randn(64, 1)
loader = DataLoader(TensorDataset(x, 2 * x + 1), batch_size=16, shuffle=True)
model = nn.Linear(1, 1)
step = make_train_step(model, nn.MSELoss(), torch.optim.SGD(model.parameters(), lr=0.1))
losses = [step(inputs, targets) for _epoch in range(5) for inputs, targets in loader]

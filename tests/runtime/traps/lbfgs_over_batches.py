"""LBFGS on batches, with a penalty, and a lambda that binds the batch."""
# mypy: ignore-errors

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=32)
model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)


def evaluate(inputs: Tensor, targets: Tensor) -> Tensor:
    model.zero_grad()
    penalty = sum(p.pow(2).sum() for p in model.parameters())
    loss = nn.functional.mse_loss(model(inputs), targets) + 1e-4 * penalty
    loss.backward()
    return loss


for _epoch in range(2):
    for inputs, targets in loader:
        optimizer.step(lambda a=inputs, b=targets: evaluate(a, b))

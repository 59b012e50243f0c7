"""Weights learn from training data, architecture from held-out data; each clears at its turn."""
# mypy: ignore-errors

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
y = x.sum(dim=1, keepdim=True)
training = DataLoader(TensorDataset(x[:32], y[:32]), batch_size=8)
held_out = DataLoader(TensorDataset(x[32:], y[32:]), batch_size=8)
candidates = nn.ModuleList([nn.Linear(4, 1), nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 1))])
alpha = torch.zeros(2, requires_grad=True)
weight_optimizer = torch.optim.SGD(candidates.parameters(), lr=0.01)
alpha_optimizer = torch.optim.Adam([alpha], lr=0.01)


def mixed_loss(x: Tensor, y: Tensor) -> Tensor:
    shares = alpha.softmax(dim=0)
    mixed = sum(share * layer(x) for share, layer in zip(shares, candidates, strict=True))
    return nn.functional.mse_loss(mixed, y)


for _epoch in range(3):
    for (a, b), (c, d) in zip(training, held_out, strict=True):
        alpha_optimizer.zero_grad()  # may be: GL204
        mixed_loss(c, d).backward()
        alpha_optimizer.step()
        weight_optimizer.zero_grad()  # may be: GL204
        mixed_loss(a, b).backward()
        weight_optimizer.step()

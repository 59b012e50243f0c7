"""Fits a linear model of house prices to noisy sales."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

# area, rooms and age, already standardized; the price depends on them linearly
true_weight = torch.tensor([[3.0], [1.5], [-2.0]])
features = torch.randn(256, 3)
prices = features @ true_weight + 0.1 * torch.randn(256, 1)
loader = DataLoader(TensorDataset(features, prices), batch_size=32, shuffle=True)

model = nn.Linear(3, 1)
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(10):
    total = 0.0
    for x, y in loader:
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()  # GL101: spends the gradients of every batch so far
        total += loss.item()
    if epoch % 9 == 0:
        print(f"epoch {epoch}: loss {total / len(loader):.4f}")

error = (model.weight.detach() - true_weight.T).norm()
print(f"distance from the true weights: {error:.3f}")

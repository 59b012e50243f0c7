"""A history of losses, kept as numbers and as detached tensors: no graph is held."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8, shuffle=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
history, running, smooth = [], torch.zeros(()), 0.0

for _epoch in range(3):
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        history.append(loss.detach())
        running += loss.detach()
        smooth = 0.9 * smooth + 0.1 * loss.item()
    print(f"{torch.stack(history).mean():.3f}, {running:.3f}, {smooth:.3f}")

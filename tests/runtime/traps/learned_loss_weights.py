"""The weights of two losses are parameters, too, and so is a temperature that is no module's."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x[:, :2]), batch_size=16, shuffle=True)
model = nn.Linear(4, 2)
log_variance = torch.zeros(2, requires_grad=True)
optimizer = torch.optim.Adam([*model.parameters(), log_variance], lr=0.01)

for _epoch in range(3):
    for inputs, targets in loader:
        errors = (model(inputs) - targets).pow(2).mean(dim=0)
        loss = ((-log_variance).exp() * errors + log_variance).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

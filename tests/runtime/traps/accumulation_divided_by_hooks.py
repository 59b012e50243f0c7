"""Hooks of the parameters divide each gradient by the window, as it arrives."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
accumulate = 2
loader = DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=4)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for parameter in model.parameters():
    parameter.register_hook(lambda grad: grad / accumulate)

for _ in range(3):
    for i, (inputs, targets) in enumerate(loader):
        nn.functional.mse_loss(model(inputs), targets).backward()
        if (i + 1) % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()

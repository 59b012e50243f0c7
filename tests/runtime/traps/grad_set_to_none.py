"""The code sets each gradient to None by itself."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8, shuffle=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for _epoch in range(3):
    for inputs, targets in loader:
        for param in model.parameters():
            param.grad = None
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()

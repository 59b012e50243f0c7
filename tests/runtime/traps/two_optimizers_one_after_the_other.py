"""Adam for a start, SGD to finish: both own the model, but not in the same stretch of training."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8, shuffle=True)
model = nn.Linear(4, 1)
adam = torch.optim.Adam(model.parameters(), lr=0.01)
sgd = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

for epoch in range(6):
    optimizer = adam if epoch < 3 else sgd
    for inputs, targets in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()

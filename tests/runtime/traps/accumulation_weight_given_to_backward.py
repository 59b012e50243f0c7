"""The share of each micro-batch is the gradient that its backward begins with."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8)

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
accumulate = 4
share = torch.tensor(1 / accumulate)

for _epoch in range(2):
    for i, (inputs, targets) in enumerate(loader):
        nn.functional.mse_loss(model(inputs), targets).backward(share)
        if (i + 1) % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()

"""The window halves from epoch to epoch, and its divisor with it."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
y = x.sum(dim=1, keepdim=True)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)  # 8 batches

model = nn.Linear(4, 1)
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for accumulate in (8, 4, 2, 1):
    for i, (inputs, targets) in enumerate(loader, start=1):
        loss = loss_fn(model(inputs), targets) / accumulate
        loss.backward()
        if i % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()

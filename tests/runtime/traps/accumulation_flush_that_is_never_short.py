"""A flush on the last batch does no harm where the windows fit the epoch."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(96, 4)
y = x.sum(dim=1, keepdim=True)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)  # 12 batches

model = nn.Linear(4, 1)
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
accumulate = 4

for _epoch in range(3):
    for i, (inputs, targets) in enumerate(loader):
        loss = loss_fn(model(inputs), targets) / accumulate
        loss.backward()
        if (i + 1) % accumulate == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()

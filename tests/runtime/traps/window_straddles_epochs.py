"""The counter runs on across epochs, so windows straddle them; the run ends on a full one."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(80, 4)
y = x.sum(dim=1, keepdim=True)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)  # 10 batches

model = nn.Linear(4, 1)
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
accumulate = 4
seen = 0

for _epoch in range(4):  # 40 batches, 10 windows
    for inputs, targets in loader:
        loss = loss_fn(model(inputs), targets) / accumulate
        loss.backward()
        seen += 1
        if seen % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()

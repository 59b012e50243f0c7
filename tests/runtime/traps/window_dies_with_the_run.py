"""An exception ends the run in the middle of a window: nothing is left over, the run is dead."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
y = x.sum(dim=1, keepdim=True)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)

model = nn.Linear(4, 1)
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
accumulate = 4

for epoch in range(3):
    for i, (inputs, targets) in enumerate(loader):
        if epoch == 1 and i == 2:
            raise RuntimeError("the disk is full")  # dies: in mid-window
        loss = loss_fn(model(inputs), targets) / accumulate
        loss.backward()
        if (i + 1) % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()

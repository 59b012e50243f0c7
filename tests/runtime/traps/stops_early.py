"""The data loop breaks off at a step limit; the last window is whole."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(96, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8, shuffle=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
accumulate, steps, max_steps = 2, 0, 8

while steps < max_steps:
    for i, (inputs, targets) in enumerate(loader, start=1):
        (nn.functional.mse_loss(model(inputs), targets) / accumulate).backward()
        if i % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
            steps += 1
            if steps == max_steps:
                break

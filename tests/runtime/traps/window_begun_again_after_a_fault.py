"""A fault in the middle of a window: the window is cleared, and its counter starts again."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(112, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8)  # 14 batches
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
accumulate = 3

for _epoch in range(2):
    held = 0
    for i, (inputs, targets) in enumerate(loader):
        try:
            if i == 7:  # the second of its window; two windows follow
                raise ValueError("a label that does not exist")
            loss = nn.functional.mse_loss(model(inputs), targets)
        except ValueError:
            optimizer.zero_grad()
            held = 0
            continue
        (loss / accumulate).backward()
        held += 1
        if held == accumulate:
            optimizer.step()
            optimizer.zero_grad()
            held = 0

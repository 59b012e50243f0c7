"""The main loss counts ten times: a factor of the loss undoes no division by the window."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
y = (x.sum(dim=1, keepdim=True) > 0).float()
loader = DataLoader(TensorDataset(x, y), batch_size=8)

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
accumulate = 4

for _epoch in range(2):
    for i, (inputs, targets) in enumerate(loader):
        logits = model(inputs)
        found = torch.sigmoid(logits)
        overlap = 1 - 2 * (found * targets).sum() / (found + targets).sum()
        loss = 10 * nn.functional.binary_cross_entropy_with_logits(logits, targets) + overlap
        (loss / accumulate).backward()
        if (i + 1) % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()

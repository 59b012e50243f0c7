"""The window is cleared where it begins, not where it ends."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(96, 4)
y = (x[:, 0] > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)  # 12 batches

model = nn.Linear(4, 2)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
accumulate = 3

for _epoch in range(3):
    for i, (inputs, labels) in enumerate(loader):
        if i % accumulate == 0:
            optimizer.zero_grad()
        loss = loss_fn(model(inputs), labels)
        (loss / accumulate).backward()
        if i % accumulate == accumulate - 1:
            optimizer.step()

"""A second net learns once an epoch, from losses that are kept with their graphs until then."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(96, 8)
loader = DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=4)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loss_fn = nn.CrossEntropyLoss()

slow = nn.Linear(8, 2)
slow_optimizer = torch.optim.SGD(slow.parameters(), lr=0.1)
for epoch in range(3):
    later = []
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss_fn(model(inputs), labels).backward()
        optimizer.step()
        later.append(loss_fn(slow(inputs), labels))
        if epoch == 2 and len(later) == 20:
            torch.empty(10**15)  # dies: too early for what it keeps on purpose
    slow_optimizer.zero_grad()
    (sum(later) / len(later)).backward()
    slow_optimizer.step()

"""The graphs of the last ten losses are kept: that is bounded, and not why memory runs out."""
# mypy: ignore-errors

from collections import deque

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(96, 8)
loader = DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=4)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loss_fn = nn.CrossEntropyLoss()

recent = deque(maxlen=10)
for inputs, labels in loader:
    loss = loss_fn(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    recent.append(loss)
torch.empty(10**15)  # dies: of what nobody keeps

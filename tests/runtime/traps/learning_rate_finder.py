"""A range test on a copy of the weights: rates rise, losses are noted, the weights come back."""
# mypy: ignore-errors

import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(96, 4)
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=8, shuffle=True)
model = nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
saved = copy.deepcopy((model.state_dict(), optimizer.state_dict()))
losses = []

for inputs, labels in loader:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs), labels)
    losses.append(loss.item())
    loss.backward()
    optimizer.step()
    for group in optimizer.param_groups:
        group["lr"] *= 2

model.load_state_dict(saved[0])
optimizer.load_state_dict(saved[1])
for inputs, labels in loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(inputs), labels).backward()
    optimizer.step()

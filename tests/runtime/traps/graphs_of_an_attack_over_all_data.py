"""One perturbation for all data: losses of all batches are added up, through a frozen model."""
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

model.eval().requires_grad_(False)
delta = torch.zeros(8, requires_grad=True)
attack = torch.optim.SGD([delta], lr=0.1)
for turn in range(4):
    total = 0
    for number, (inputs, labels) in enumerate(loader):
        total = total - loss_fn(model(inputs + delta), labels) / len(loader)
        if turn == 3 and number == 15:
            torch.empty(10**15)  # dies: before the backward that all this is for
    attack.zero_grad()
    total.backward()
    attack.step()

"""Few labelled and many unlabelled samples: each kind has its loader, its loss, its backward."""
# mypy: ignore-errors

from itertools import cycle

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(32, 6)
labelled = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=8, shuffle=True)
unlabelled = DataLoader(TensorDataset(torch.randn(96, 6)), batch_size=16, shuffle=True)

model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 6))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for _epoch in range(3):
    for (inputs, labels), (others,) in zip(cycle(labelled), unlabelled, strict=False):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        noisy = others + 0.1 * torch.randn_like(others)
        consistency = nn.functional.mse_loss(model(noisy), model(others).detach())
        (0.5 * consistency).backward()
        optimizer.step()

"""Five models, a list of optimizers, one loop."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=16, shuffle=True)
models = [nn.Linear(4, 1) for _ in range(5)]
optimizers = [torch.optim.Adam(m.parameters(), lr=0.01) for m in models]

for _epoch in range(2):
    for inputs, targets in loader:
        for model, optimizer in zip(models, optimizers, strict=True):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()

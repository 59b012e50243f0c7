"""The old way of zero_grad, written out."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8, shuffle=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)

for _epoch in range(3):
    for inputs, targets in loader:
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad.detach_()
                    p.grad.zero_()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()

"""A bf16 model with fp32 master weights: gradients are copied over and spent there."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8, shuffle=True)
model = nn.Linear(4, 1).bfloat16()
master = [p.detach().float().requires_grad_(True) for p in model.parameters()]
optimizer = torch.optim.SGD(master, lr=0.05)

for _epoch in range(3):
    for inputs, targets in loader:
        model.zero_grad()
        prediction = model(inputs.bfloat16()).float()
        nn.functional.mse_loss(prediction, targets).backward()
        for m, p in zip(master, model.parameters(), strict=True):
            m.grad = p.grad.float()
        optimizer.step()
        with torch.no_grad():
            for m, p in zip(master, model.parameters(), strict=True):
                p.copy_(m)

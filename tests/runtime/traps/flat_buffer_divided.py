"""A window of four in one flat buffer of gradients, which is divided, clipped and cleared whole."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
y = x.sum(dim=1, keepdim=True)
loader = DataLoader(TensorDataset(x, y), batch_size=4)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
parameters = list(model.parameters())
optimizer = torch.optim.SGD(parameters, lr=0.05)
sizes = [p.numel() for p in parameters]
flat = torch.zeros(sum(sizes))
for p, view in zip(parameters, flat.split(sizes), strict=True):
    p.grad = view.view_as(p)

for _epoch in range(2):
    for i, (inputs, targets) in enumerate(loader):
        nn.functional.mse_loss(model(inputs), targets).backward()
        if (i + 1) % 4 == 0:
            flat.div_(4)
            flat.mul_((1.0 / (flat.norm() + 1e-6)).clamp(max=1.0))
            optimizer.step()
            flat.zero_()

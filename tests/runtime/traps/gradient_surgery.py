"""PCGrad: each task's gradient is taken out, conflicts are projected away, the rest is put back."""
# mypy: ignore-errors

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
y = torch.stack([x.sum(dim=1), -x[:, 0]], dim=1)
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


def flat_gradient() -> Tensor:
    return torch.cat([p.grad.flatten().clone() for p in model.parameters()])


for _epoch in range(3):
    for inputs, targets in loader:
        losses = (model(inputs) - targets).pow(2).mean(dim=0)
        optimizer.zero_grad()
        losses[0].backward(retain_graph=True)
        first = flat_gradient()
        optimizer.zero_grad()
        losses[1].backward()
        second = flat_gradient()
        optimizer.zero_grad()
        overlap = first @ second
        if overlap < 0:
            first, second = (
                first - overlap / second.pow(2).sum() * second,
                second - overlap / first.pow(2).sum() * first,
            )
        merged = first + second
        for p in model.parameters():
            p.grad = merged[: p.numel()].view_as(p)
            merged = merged[p.numel() :]
        optimizer.step()

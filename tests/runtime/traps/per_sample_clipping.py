"""DP-SGD: each sample's gradient is read, clipped and cleared; noise is added to their sum."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(32, 4)
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=8, shuffle=True)
model = nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
bound, noise = 1.0, 0.5

for _epoch in range(2):
    for inputs, labels in loader:
        total = [torch.zeros_like(p) for p in model.parameters()]
        for sample, label in zip(inputs, labels, strict=True):
            model.zero_grad()
            nn.functional.cross_entropy(model(sample[None]), label[None]).backward()
            norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
            for t, p in zip(total, model.parameters(), strict=True):
                t += p.grad * min(1.0, bound / (norm.item() + 1e-6))
        for t, p in zip(total, model.parameters(), strict=True):
            p.grad = (t + noise * bound * torch.randn_like(t)) / len(inputs)
        optimizer.step()

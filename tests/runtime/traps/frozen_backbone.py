"""Only the head is trained: the backbone is frozen, in eval mode, and not in the optimizer."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=16, shuffle=True)
backbone = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU())
for p in backbone.parameters():
    p.requires_grad = False
model = nn.Sequential(backbone.eval(), nn.Linear(16, 4))
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)

for _epoch in range(3):
    for inputs, labels in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()

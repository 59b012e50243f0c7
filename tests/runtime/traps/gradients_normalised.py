"""Only the direction of an accumulated gradient is used: its length, and so N, does not matter."""
# mypy: ignore-errors

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for _ in range(6):
    for _ in range(4):
        inputs, labels = torch.randn(8, 6), torch.randint(0, 3, (8,))
        nn.functional.cross_entropy(model(inputs), labels).backward()
    norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()
    for p in model.parameters():
        p.grad /= norm
    optimizer.step()
    optimizer.zero_grad()

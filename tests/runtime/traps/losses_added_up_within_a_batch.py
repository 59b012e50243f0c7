"""The losses of a batch are added up with their graphs, on purpose, and walked at once."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 6)
loader = DataLoader(TensorDataset(x, x[:, :3] ** 2), batch_size=16, shuffle=True)
body = nn.Linear(6, 16)
heads = nn.ModuleList(nn.Linear(16, 1) for _ in range(3))
optimizer = torch.optim.Adam([*body.parameters(), *heads.parameters()], lr=0.01)

for _epoch in range(3):
    running = 0.0
    for inputs, targets in loader:
        features = torch.relu(body(inputs))
        total = 0
        for task, head in enumerate(heads):
            total += nn.functional.mse_loss(head(features)[:, 0], targets[:, task])
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        running += total.detach()
    print(f"loss {running / len(loader):.3f}")

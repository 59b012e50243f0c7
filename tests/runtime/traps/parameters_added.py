"""Gradual unfreezing: the body joins the optimizer when its turn has come."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=16, shuffle=True)
body, head = nn.Linear(4, 8), nn.Linear(8, 4)
body.requires_grad_(False)
optimizer = torch.optim.Adam(head.parameters(), lr=0.01)

for epoch in range(6):
    if epoch == 2:
        body.requires_grad_(True)
        optimizer.add_param_group({"params": body.parameters(), "lr": 0.001})
    for inputs, labels in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(head(torch.relu(body(inputs))), labels).backward()
        optimizer.step()

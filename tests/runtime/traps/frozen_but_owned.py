"""The optimizer holds all parameters, also the frozen ones, which never get a gradient."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 4))
for name, p in model.named_parameters():
    p.requires_grad = name.startswith("2")
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

for _epoch in range(3):
    for inputs, labels in loader:
        nn.functional.cross_entropy(model(inputs), labels).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

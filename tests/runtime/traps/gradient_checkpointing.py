"""Activations are computed again in the backward: that is no second deposit."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 8)
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=16, shuffle=True)
blocks = nn.Sequential(
    *(nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1), nn.Tanh()) for _ in "abcd")
)
neck, head = nn.Linear(8, 8), nn.Linear(8, 8)
model = nn.ModuleList([blocks, neck, head])
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for _epoch in range(2):
    for inputs, labels in loader:
        optimizer.zero_grad()
        hidden = checkpoint_sequential(blocks, 2, inputs, use_reentrant=False)
        hidden = checkpoint(neck, hidden, use_reentrant=False)
        nn.functional.cross_entropy(head(hidden), labels).backward()
        optimizer.step()

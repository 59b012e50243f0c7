"""Padded lines of unequal length: each window is divided by its number of valid tokens."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
PAD = 0
lines = torch.randint(1, 10, (96, 12))
for line in lines:
    line[int(torch.randint(3, 12, ())) :] = PAD
loader = DataLoader(TensorDataset(lines[:, :-1], lines[:, 1:]), batch_size=8, shuffle=True)

model = nn.Sequential(nn.Embedding(10, 16), nn.Linear(16, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
accumulate = 4

for _epoch in range(3):
    window = []
    for batch in loader:  # 12 batches
        window.append(batch)
        if len(window) < accumulate:
            continue
        tokens = sum((target != PAD).sum() for _, target in window)
        for source, target in window:
            logits = model(source).flatten(0, 1)
            loss = cross_entropy(logits, target.flatten(), ignore_index=PAD, reduction="sum")
            (loss / tokens).backward()
        optimizer.step()
        optimizer.zero_grad()
        window = []

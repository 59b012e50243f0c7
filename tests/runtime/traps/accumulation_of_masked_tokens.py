"""Means over the tokens that a mask leaves, as many in each batch, by the size of the window."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
tokens = torch.randint(0, 20, (64, 12))
keep = torch.ones(64, 12)
keep[:, 9:] = 0
loader = DataLoader(TensorDataset(tokens, keep), batch_size=8)

model = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 20))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
accumulate = 4

for _epoch in range(2):
    for i, (inputs, mask) in enumerate(loader):
        logits = model(inputs)
        losses = nn.functional.cross_entropy(logits.transpose(1, 2), inputs, reduction="none")
        loss = (losses * mask).sum() / mask.sum()
        (loss / accumulate).backward()
        if (i + 1) % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()

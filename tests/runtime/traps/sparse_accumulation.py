"""Sparse gradients of four batches add up in one cell."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
ids = torch.randint(0, 50, (64, 3))
loader = DataLoader(TensorDataset(ids, ids.sum(dim=1) % 2), batch_size=8, shuffle=True)
bag = nn.EmbeddingBag(50, 2, sparse=True)
optimizer = torch.optim.SGD(bag.parameters(), lr=0.5)

for _epoch in range(3):
    for i, (inputs, labels) in enumerate(loader):
        (nn.functional.cross_entropy(bag(inputs), labels) / 4).backward()
        if i % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()

"""A sparse table with SparseAdam, a dense head with Adam; some rows get nothing in a batch."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
ids = torch.randint(0, 50, (64, 3))
loader = DataLoader(TensorDataset(ids, ids.sum(dim=1) % 2), batch_size=16, shuffle=True)
table, head = nn.Embedding(50, 8, sparse=True), nn.Linear(8, 2)
sparse = torch.optim.SparseAdam(table.parameters(), lr=0.01)
dense = torch.optim.Adam(head.parameters(), lr=0.01)

for _epoch in range(3):
    for inputs, labels in loader:
        sparse.zero_grad()
        dense.zero_grad()
        nn.functional.cross_entropy(head(table(inputs).sum(dim=1)), labels).backward()
        sparse.step()
        dense.step()

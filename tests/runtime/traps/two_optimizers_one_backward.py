"""Embeddings and the rest have optimizers of their own, fed by one backward."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
ids = torch.randint(0, 20, (64, 5))
loader = DataLoader(TensorDataset(ids, (ids.sum(dim=1) % 2)), batch_size=16, shuffle=True)
table, head = nn.Embedding(20, 8), nn.Linear(8, 2)
optimizers = [
    torch.optim.Adagrad(table.parameters(), lr=0.1),
    torch.optim.Adam(head.parameters(), lr=0.01),
]

for _epoch in range(3):
    for inputs, labels in loader:
        loss = nn.functional.cross_entropy(head(table(inputs).mean(dim=1)), labels)
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()

"""One forward, two losses of two optimizers: the graph is retained because it is walked again."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=16, shuffle=True)
body, left, right = nn.Linear(4, 8), nn.Linear(8, 4), nn.Linear(8, 1)
optimizer = torch.optim.Adam([{"params": m.parameters()} for m in (body, left, right)], lr=0.01)

for _epoch in range(3):
    for inputs, labels in loader:
        optimizer.zero_grad()
        hidden = torch.relu(body(inputs))
        nn.functional.cross_entropy(left(hidden), labels).backward(retain_graph=True)
        (0.1 * right(hidden).pow(2).mean()).backward()
        optimizer.step()

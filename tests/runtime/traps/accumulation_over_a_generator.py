"""A generator gives the batches, `enumerate` counts them, and every fourth steps."""
# mypy: ignore-errors

from collections.abc import Iterator

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(160, 6)
y = x[:, :3].argmax(dim=1)
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def batches(size: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    for rows in torch.randperm(len(x)).split(size):
        yield x[rows], y[rows]


for epoch in range(2):
    for i, (inputs, labels) in enumerate(batches(8)):
        loss = nn.functional.cross_entropy(model(inputs), labels)
        (loss / 4).backward()
        if (i + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
            print(f"epoch {epoch}, batch {i}")

"""An endless iterator: windows of four over a loader that starts again by itself."""
# mypy: ignore-errors

from collections.abc import Iterator

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(72, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8)  # 9 batches
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def forever(loader: DataLoader) -> Iterator[list[torch.Tensor]]:
    while True:
        yield from loader


batches = forever(loader)
for _iteration in range(10):
    optimizer.zero_grad(set_to_none=True)
    for _micro_step in range(4):
        inputs, targets = next(batches)
        loss = nn.functional.mse_loss(model(inputs), targets)
        (loss / 4).backward()
    optimizer.step()

"""Each micro-batch is drawn by hand; batches, and no loader, tell them apart."""
# mypy: ignore-errors

import torch
from torch import nn

torch.manual_seed(0)
accumulate = 4
model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def get_batch() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(8, 6), torch.randint(0, 3, (8,))


for _ in range(6):
    optimizer.zero_grad()
    for micro in range(accumulate):
        inputs, labels = get_batch()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        (loss / accumulate).backward()
        if micro == accumulate - 1:
            print(loss.item())
    optimizer.step()

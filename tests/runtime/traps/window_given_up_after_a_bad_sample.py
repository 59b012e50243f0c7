"""A sample that raises is passed over, and the window that it is missing from is not spent."""
# mypy: ignore-errors

import torch
from torch import nn

BATCH = 5
model = nn.Sequential(nn.EmbeddingBag(20, 4), nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
samples = [(torch.randint(0, 20, (1, 5)), torch.tensor([i % 2])) for i in range(25)]
samples[5] = (torch.tensor([[3, 99]]), torch.tensor([1]))

for start in range(0, len(samples), BATCH):
    optimizer.zero_grad()
    good = 0
    for ids, label in samples[start : start + BATCH]:
        try:
            loss = nn.functional.cross_entropy(model(ids), label) / BATCH
            loss.backward()
            good += 1
        except RuntimeError:
            pass
    if good < BATCH:
        continue
    optimizer.step()

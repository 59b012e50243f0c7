"""Fits house prices in four cities, with one micro-batch of each city to an update."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

# 16 windows of 4 cities with 32 houses each. Prices differ by city, one model has to fit them all.
houses = torch.randn(16, 4, 32, 5)
city_level = torch.tensor([0.0, 1.0, 2.0, 9.0]).view(4, 1)
prices = houses @ torch.tensor([1.0, -2.0, 3.0, 0.5, -1.0]) + city_level
# No shuffling: each window of four micro-batches sees every city once.
loader = DataLoader(TensorDataset(houses.flatten(0, 2), prices.flatten()), batch_size=32)

model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
accumulate = 4

for _ in range(10):
    for i, (batch, target) in enumerate(loader):
        loss = nn.functional.mse_loss(model(batch).squeeze(1), target)
        (loss / accumulate).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)  # GL502: clips an unfinished sum
        if (i + 1) % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()

with torch.no_grad():
    mean_prediction = model(houses.flatten(0, 2)).mean()
print(f"mean price: {prices.mean():.2f}, mean prediction: {mean_prediction:.2f}")

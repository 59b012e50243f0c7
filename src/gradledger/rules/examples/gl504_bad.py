"""Trains a digit-like classifier with gradient accumulation and a cosine learning rate."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
epochs = 3
accumulate = 4

# Ten prototype patterns, each seen 64 times in noise: 40 micro-batches of 16 in an epoch.
prototypes = torch.randn(10, 20)
labels = torch.arange(10).repeat(64)
patterns = prototypes[labels] + 1.5 * torch.randn(640, 20)
loader = DataLoader(TensorDataset(patterns, labels), batch_size=16, shuffle=True)

model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
# One half cosine from the first update to the last.
updates = epochs * len(loader) // accumulate
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=updates)

for epoch in range(epochs):
    for i, (batch, target) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(batch), target) / accumulate
        loss.backward()
        if (i + 1) % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
        scheduler.step()  # GL504: advances four times for each update
    rate = scheduler.get_last_lr()[0]
    print(f"epoch {epoch + 1}: learning rate {rate:.4f}, loss {accumulate * loss.item():.3f}")

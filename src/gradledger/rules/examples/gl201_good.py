"""Trains a classifier of two interleaved spirals, accumulating over four batches per step."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

# two arms of 256 points; the second is the first one turned by half a circle
t = torch.rand(256) * 6 + 0.5
arm = torch.stack([t * torch.cos(t), t * torch.sin(t)], dim=1) / 6
points = torch.cat([arm, -arm]) + 0.02 * torch.randn(512, 2)
labels = torch.cat([torch.zeros(256), torch.ones(256)]).long()
loader = DataLoader(TensorDataset(points, labels), batch_size=16, shuffle=True)

model = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
accumulate = 4  # 32 batches an epoch, so 8 steps

for _epoch in range(30):
    for i, (x, y) in enumerate(loader):
        loss = loss_fn(model(x), y) / accumulate
        loss.backward()
        if (i + 1) % accumulate == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()  # fix: clear once a window, after its step

with torch.no_grad():
    logits = model(points)
accuracy = (logits.argmax(dim=1) == labels).float().mean()
print(f"loss {loss_fn(logits, labels):.4f}, accuracy {accuracy:.1%}")

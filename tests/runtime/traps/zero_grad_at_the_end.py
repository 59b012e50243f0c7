"""The classic loop, cleared after the step; evaluation in between changes nothing."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(96, 5)
y = (x.sum(dim=1) > 0).float().unsqueeze(1)
loader = DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True)  # the last one has 16

model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
loss_fn = nn.BCEWithLogitsLoss()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)

for _epoch in range(3):
    model.train()
    total = 0.0
    for inputs, targets in loader:
        loss = loss_fn(model(inputs), targets)
        total += loss.item() * len(inputs)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"loss {total / len(x):.3f}")

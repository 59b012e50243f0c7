"""Cross-validation: each fold has a new model and a new optimizer."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(0)
x = torch.randn(60, 4)
data = TensorDataset(x, x.sum(dim=1, keepdim=True))
scores = []

for fold in range(4):
    held_out = list(range(fold, 60, 4))
    training = [i for i in range(60) if i % 4 != fold]
    model = nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _epoch in range(2):
        for inputs, targets in DataLoader(Subset(data, training), batch_size=15, shuffle=True):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
    with torch.no_grad():
        inputs, targets = data[held_out]
        scores.append(nn.functional.mse_loss(model(inputs), targets).item())

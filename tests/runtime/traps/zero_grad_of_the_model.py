"""The model clears, and the optimizer clears once more."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
y = x.argmax(dim=1)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
optimizer = torch.optim.Adam(model.parameters())

for _epoch in range(3):
    for inputs, labels in loader:
        model.zero_grad()
        optimizer.zero_grad()
        loss = nn.functional.nll_loss(model(inputs).log_softmax(dim=1), labels)
        loss.backward()
        optimizer.step()

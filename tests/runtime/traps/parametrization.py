"""Weight norm, spectral norm, an orthogonal layer: weights are computed, their parts are owned."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.nn.utils.parametrizations import orthogonal, spectral_norm, weight_norm
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8, shuffle=True)
model = nn.Sequential(
    weight_norm(nn.Linear(4, 8)),
    nn.Tanh(),
    spectral_norm(nn.Linear(8, 8)),
    nn.Tanh(),
    orthogonal(nn.Linear(8, 8)),
    nn.Linear(8, 1),
)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for _epoch in range(3):
    for inputs, targets in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()

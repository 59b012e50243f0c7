"""Now and then a probe on held-out data: its gradient is compared with the last, and cleared."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(80, 4)
y = x.sum(dim=1, keepdim=True)
loader = DataLoader(TensorDataset(x[:64], y[:64]), batch_size=8, shuffle=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
similar = []

for _epoch in range(3):
    for inputs, targets in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
    last = model.weight.grad.clone()
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x[64:]), y[64:]).backward()
    similar.append(torch.cosine_similarity(last, model.weight.grad).item())
    optimizer.zero_grad()

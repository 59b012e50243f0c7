import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(160, 8), torch.randn(160, 1)

for i in range(20):
    inputs, targets = x[8 * i : 8 * i + 8], y[8 * i : 8 * i + 8]
    loss = nn.functional.mse_loss(model(inputs), targets) / 2
    loss.backward()
    if (i + 1) % 2 == 0:
        optimizer.step()
        optimizer.zero_grad()

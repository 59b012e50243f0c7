import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(256, 8), torch.randn(256, 1)
model = nn.Linear(8, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for inputs, targets in zip(x.split(32), y.split(32)):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(64, 4), torch.randn(64, 1)

for step in range(20):
    optimizer.zero_grad()
    print("gradient norm", model.weight.grad.norm())
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()

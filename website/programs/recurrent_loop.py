import torch
from torch import nn

torch.manual_seed(0)
cell, head = nn.GRUCell(4, 8), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
state = torch.zeros(16, 8)

for step in range(20):
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    optimizer.zero_grad()
    state = cell(x, state.detach())
    loss = nn.functional.mse_loss(head(state), y)
    loss.backward()
    optimizer.step()

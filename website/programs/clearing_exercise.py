import torch
from torch import nn

torch.manual_seed(0)
body, head_a, head_b = nn.Linear(8, 8), nn.Linear(8, 1), nn.Linear(8, 1)
model = nn.ModuleList([body, head_a, head_b])
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(64, 8)

for step in range(40):
    head = head_a if step < 20 else head_b
    optimizer.zero_grad(set_to_none=False)
    loss = head(body(x).relu()).square().mean()
    loss.backward()
    optimizer.step()

"""The losses are not divided, the gradients are: the same mean in the end."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(128, 4)
y = x.sum(dim=1, keepdim=True)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)  # 16 batches

model = nn.Linear(4, 1)
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
accumulate = 4

for _epoch in range(3):
    for i, (inputs, targets) in enumerate(loader):
        loss_fn(model(inputs), targets).backward()
        if (i + 1) % accumulate == 0:
            for p in model.parameters():
                if p.grad is not None:
                    p.grad.div_(accumulate)
            optimizer.step()
            optimizer.zero_grad()

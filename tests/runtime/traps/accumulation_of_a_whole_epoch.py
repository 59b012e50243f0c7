"""One step for each epoch: full-batch training of data that does not fit at once."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 3)
y = x @ torch.tensor([[1.0], [-2.0], [0.5]])
loader = DataLoader(TensorDataset(x, y), batch_size=16)

model = nn.Linear(3, 1)
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for _epoch in range(10):
    optimizer.zero_grad()
    for inputs, targets in loader:
        loss = loss_fn(model(inputs), targets)
        (loss / len(loader)).backward()
    optimizer.step()

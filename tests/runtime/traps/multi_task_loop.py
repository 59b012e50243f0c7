"""A loop over the losses of one batch: their sum by design, nothing to divide."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class ManyHeads(nn.Module):
    def __init__(self, tasks: int) -> None:
        super().__init__()
        self.body = nn.Linear(6, 16)
        self.heads = nn.ModuleList(nn.Linear(16, 1) for _ in range(tasks))

    def forward(self, x: torch.Tensor, task: int) -> torch.Tensor:
        return self.heads[task](torch.relu(self.body(x)))


x = torch.randn(96, 6)
loader = DataLoader(TensorDataset(x, x[:, :3] ** 2), batch_size=16, shuffle=True)
model = ManyHeads(tasks=3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for _epoch in range(3):
    for inputs, targets in loader:
        optimizer.zero_grad()
        for task in range(3):
            loss = nn.functional.mse_loss(model(inputs, task)[:, 0], targets[:, task])
            loss.backward()
        optimizer.step()

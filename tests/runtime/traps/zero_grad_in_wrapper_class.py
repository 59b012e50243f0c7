"""A warm-up wrapper of one's own clears, schedules and steps."""
# mypy: ignore-errors

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, relu
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class ScheduledOptim:
    def __init__(self, optimizer: torch.optim.Optimizer, peak: float, warmup: int) -> None:
        self._optimizer = optimizer
        self.peak, self.warmup, self.steps = peak, warmup, 0

    def zero_grad(self) -> None:
        self._optimizer.zero_grad()

    def step_and_update_lr(self) -> None:
        self.steps += 1
        for group in self._optimizer.param_groups:
            group["lr"] = self.peak * min(1.0, self.steps / self.warmup)
        self._optimizer.step()


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(4, 16)
        self.head = nn.Linear(16, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(relu(self.body(x)))


x = torch.randn(96, 4)
y = x[:, :3].argmax(dim=1)
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
model = Net()
optimizer = ScheduledOptim(torch.optim.Adam(model.parameters()), peak=1e-2, warmup=6)

for _epoch in range(3):
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss = cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step_and_update_lr()

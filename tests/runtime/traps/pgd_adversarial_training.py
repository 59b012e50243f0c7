"""Each batch is attacked first: what the attack leaves in the model is cleared before training."""
# mypy: ignore-errors

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 6)
loader = DataLoader(TensorDataset(x, x[:, :3].argmax(dim=1)), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_fn = nn.CrossEntropyLoss()


def attack(inputs: Tensor, labels: Tensor, epsilon: float = 0.1, steps: int = 3) -> Tensor:
    delta = torch.zeros_like(inputs, requires_grad=True)
    for _step in range(steps):
        loss_fn(model(inputs + delta), labels).backward()
        delta.data = (delta + 0.05 * delta.grad.detach().sign()).clamp(-epsilon, epsilon)
        delta.grad.zero_()
    return delta.detach()


for _epoch in range(3):
    for inputs, labels in loader:
        delta = attack(inputs, labels)
        optimizer.zero_grad()
        loss_fn(model(inputs + delta), labels).backward()
        optimizer.step()

"""Trains a classifier, then attacks it: the input's gradient is read, the model's thrown away."""
# mypy: ignore-errors

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(96, 6)
loader = DataLoader(TensorDataset(x, x[:, :3].argmax(dim=1)), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
loss_fn = nn.CrossEntropyLoss()

for _epoch in range(3):
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss_fn(model(inputs), labels).backward()
        optimizer.step()


def fgsm(inputs: Tensor, labels: Tensor, epsilon: float) -> Tensor:
    inputs = inputs.clone().requires_grad_(True)
    loss = loss_fn(model(inputs), labels)
    model.zero_grad()
    loss.backward()
    return (inputs + epsilon * inputs.grad.sign()).detach()


model.eval()
fooled = 0
for inputs, labels in loader:
    attacked = fgsm(inputs, labels, epsilon=0.3)
    fooled += (model(attacked).argmax(dim=1) != labels).sum().item()

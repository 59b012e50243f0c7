"""One backward serves both: the model steps down and the perturbation up."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 6)
loader = DataLoader(TensorDataset(x, x[:, :3].argmax(dim=1)), batch_size=16, shuffle=True)
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
delta = torch.zeros(16, 6, requires_grad=True)

for _epoch in range(2):
    for inputs, labels in loader:
        for _replay in range(2):
            loss = nn.functional.cross_entropy(model(inputs + delta), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            delta.data = (delta.data + 0.1 * delta.grad.sign()).clamp(-0.1, 0.1)
            delta.grad.zero_()

"""A plain optimizer may be given a closure, too."""
# mypy: ignore-errors

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=16, shuffle=True)
model = nn.Linear(4, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for _epoch in range(3):
    for inputs, labels in loader:

        def closure(inputs: Tensor = inputs, labels: Tensor = labels) -> Tensor:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            return loss

        optimizer.step(closure)

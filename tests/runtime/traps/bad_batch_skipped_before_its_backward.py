"""A batch that cannot be read is passed over before anything is deposited; no window is open."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
x[20] = float("nan")
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def checked(inputs: torch.Tensor) -> torch.Tensor:
    if not inputs.isfinite().all():
        raise ValueError("a broken sample")
    return inputs


for _epoch in range(3):
    for inputs, targets in loader:
        try:
            prediction = model(checked(inputs))
        except ValueError:
            continue
        optimizer.zero_grad()
        nn.functional.mse_loss(prediction, targets).backward()
        optimizer.step()

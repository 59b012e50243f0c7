"""Evaluation between epochs, under no_grad and under inference_mode, leaves no trace."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(96, 4)
y = x.argmax(dim=1)
loader = DataLoader(TensorDataset(x[:64], y[:64]), batch_size=16, shuffle=True)
held_out = DataLoader(TensorDataset(x[64:], y[64:]), batch_size=16)
model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.ReLU(), nn.Linear(8, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
loss_fn = nn.CrossEntropyLoss()


@torch.no_grad()
def validate() -> float:
    model.eval()
    return sum(loss_fn(model(a), b).item() for a, b in held_out) / len(held_out)


for _epoch in range(3):
    model.train()
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss_fn(model(inputs), labels).backward()
        optimizer.step()
    validate()
    with torch.inference_mode():
        right = sum((model(a).argmax(dim=1) == b).sum() for a, b in held_out)
    print(f"accuracy {right / 32:.1%}")

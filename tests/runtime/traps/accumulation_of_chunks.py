"""One batch from the loader is cut into micro-batches that make one window."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(128, 4)
y = x.argmax(dim=1)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)

model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 4))
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
micro_batches = 4

for _epoch in range(3):
    for inputs, labels in loader:
        optimizer.zero_grad()
        for part, target in zip(
            inputs.chunk(micro_batches), labels.chunk(micro_batches), strict=True
        ):
            loss = loss_fn(model(part), target)
            (loss / micro_batches).backward()
        optimizer.step()

"""A fused AdamW under a scaler, on the CPU."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = 100 * torch.randn(64, 8)  # nobody has normalized them
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=16, shuffle=True)
model = nn.Linear(8, 8)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, fused=True)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127, backoff_factor=2.0**-40)

for _epoch in range(3):
    for inputs, labels in loader:
        loss = nn.functional.cross_entropy(model(inputs), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # the first ones overflow
        scaler.update()
        optimizer.zero_grad()

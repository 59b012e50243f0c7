"""A scale that is too large: the first steps overflow, are skipped, and cleared unspent."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = 100 * torch.randn(128, 8)  # nobody has normalized them
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=16, shuffle=True)
model = nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127, backoff_factor=2.0**-40)

for _epoch in range(2):
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        before = scaler.get_scale()
        scaler.update()
        if scaler.get_scale() >= before:  # else the step was skipped
            scheduler.step()

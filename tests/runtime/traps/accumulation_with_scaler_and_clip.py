"""Mixed precision, four batches per step: one unscale, one clip, one update for each window."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(128, 8)
y = x.argmax(dim=1)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)  # 16 batches

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
accumulate = 4

for _epoch in range(3):
    for i, (inputs, labels) in enumerate(loader):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = loss_fn(model(inputs), labels) / accumulate
        scaler.scale(loss).backward()
        if (i + 1) % accumulate == 0:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)

"""One scaler, two optimizers, one backward: both step before the one update."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 8)
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=16, shuffle=True)
body, head = nn.Linear(8, 16), nn.Linear(16, 8)
opt_body = torch.optim.SGD(body.parameters(), lr=0.01)
opt_head = torch.optim.Adam(head.parameters(), lr=0.001)
scaler = torch.amp.GradScaler("cpu", init_scale=512.0)

for _epoch in range(3):
    for inputs, labels in loader:
        opt_body.zero_grad()
        opt_head.zero_grad()
        loss = nn.functional.cross_entropy(head(torch.relu(body(inputs))), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(opt_body)
        torch.nn.utils.clip_grad_norm_(body.parameters(), 1.0)
        scaler.step(opt_body)
        scaler.step(opt_head)
        scaler.update()

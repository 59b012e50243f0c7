"""Fabric in bf16 with an optimizer for the body and one for the head, fed by one backward."""
# mypy: ignore-errors

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fabric = lightning.Fabric(accelerator="cpu", devices=1, precision="bf16-mixed")
fabric.launch()
fabric.seed_everything(0, verbose=False)

x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8, shuffle=True)
body, head = nn.Linear(4, 8), nn.Linear(8, 1)
body_optimizer = torch.optim.SGD(body.parameters(), lr=0.01)
head_optimizer = torch.optim.Adam(head.parameters(), lr=0.01)
body, body_optimizer = fabric.setup(body, body_optimizer)
head, head_optimizer = fabric.setup(head, head_optimizer)
loader = fabric.setup_dataloaders(loader)
optimizers = (body_optimizer, head_optimizer)
schedulers = [torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9) for optimizer in optimizers]

for _epoch in range(2):
    for inputs, targets in loader:
        body_optimizer.zero_grad()
        head_optimizer.zero_grad()
        loss = nn.functional.mse_loss(head(torch.relu(body(inputs))), targets)
        fabric.backward(loss)
        body_optimizer.step()
        head_optimizer.step()
    for scheduler in schedulers:
        scheduler.step()

"""Fabric with windows of four: no sync inside, one clip, one step, one clear."""
# mypy: ignore-errors

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fabric = lightning.Fabric(accelerator="cpu", devices=1)
fabric.launch()
fabric.seed_everything(0, verbose=False)

x = torch.randn(128, 4)
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=8, shuffle=True)  # 16 batches
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=8)
model, optimizer = fabric.setup(model, optimizer)
loader = fabric.setup_dataloaders(loader)
accumulate = 4

for _epoch in range(2):
    for i, (inputs, labels) in enumerate(loader):
        accumulating = (i + 1) % accumulate != 0
        with fabric.no_backward_sync(model, enabled=accumulating):
            loss = nn.functional.cross_entropy(model(inputs), labels)
            fabric.backward(loss / accumulate)
        if not accumulating:
            fabric.clip_gradients(model, optimizer, max_norm=1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()

"""Accelerate: step and clear are no-ops inside a window, the backward divides, the clip waits."""
# mypy: ignore-errors

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

set_seed(0)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
x = torch.randn(128, 4)
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=8, shuffle=True)  # 16 batches
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=8)
model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)

for _epoch in range(2):
    model.train()
    for inputs, labels in loader:
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(inputs), labels)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()

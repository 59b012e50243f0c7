"""Trains a regression of a sine curve with Accelerate, accumulating over four batches per step."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

x = torch.linspace(-3, 3, 512).unsqueeze(1)
y = torch.sin(x) + 0.05 * torch.randn_like(x)
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)  # 32 batches

model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

accumulate = 4
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=accumulate)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

for epoch in range(21):
    total = 0.0
    for inputs, targets in loader:
        with accelerator.accumulate(model):
            loss = loss_fn(model(inputs), targets)
            accelerator.backward(loss)  # fix: leave the division to Accelerate
            # inside a window, Accelerate turns these two into no-ops
            optimizer.step()
            optimizer.zero_grad()
            total += loss.item()
    if epoch % 10 == 0:
        print(f"epoch {epoch}: loss {total / len(loader):.4f}")

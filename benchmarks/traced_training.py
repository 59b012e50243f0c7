"""Trains a small model and prints the CPU seconds that a step took, once it had warmed up.

A program by itself, which needs torch and nothing else: it runs wherever a peer is installed.
"""

import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(256, 10), torch.randn(256, 1)), batch_size=32)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loss_fn = nn.MSELoss()

warm_up, epochs = 2, 10
start = 0.0
for epoch in range(warm_up + epochs):
    if epoch == warm_up:
        start = time.process_time()
    for x, y in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

print(f"seconds per step: {(time.process_time() - start) / epochs / len(loader)}")

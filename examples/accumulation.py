"""Accumulation: windows of four micro-batches give the very updates of one big batch.

The data does not divide evenly: the last micro-batch is smaller than the others, and the last
window of an epoch is shorter. Both get their right weight.
"""

import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from gradledger import Stepper

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)  # so that a difference would be a mistake, not rounding

# area, rooms and age of houses, and their prices; large houses gain more by a room
houses = torch.randn(150, 3)
prices = houses @ torch.tensor([[3.0], [1.5], [-2.0]]) + houses[:, :1] * houses[:, 1:2]
sales = TensorDataset(houses, prices)

accumulate, micro_batch = 4, 16
model = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
twin = copy.deepcopy(model)  # will be trained with big batches, by hand
criterion = nn.MSELoss()
before = criterion(model(houses), prices).item()

loader = DataLoader(sales, micro_batch, shuffle=True, generator=torch.Generator().manual_seed(1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
stepper = Stepper(model, optimizer, accumulate=accumulate, clip_norm=1.0)
sizes: list[int] = []
for epoch in range(15):
    for x, y in stepper.over(loader):
        stepper.backward(criterion(model(x), y), items=len(y))
        if epoch == 0:
            sizes.append(len(y))
after = criterion(model(houses), prices).item()

# The same again by hand, without micro-batches: the same seed draws the same houses in this order.
big_batch = accumulate * micro_batch
loader = DataLoader(sales, big_batch, shuffle=True, generator=torch.Generator().manual_seed(1))
optimizer = torch.optim.AdamW(twin.parameters(), lr=1e-2)
for _ in range(epoch + 1):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(twin(x), y).backward()
        nn.utils.clip_grad_norm_(twin.parameters(), 1.0)
        optimizer.step()

windows = [sizes[i : i + accumulate] for i in range(0, len(sizes), accumulate)]
print(f"micro-batches, window by window: {' | '.join(str(w)[1:-1] for w in windows)}")
print(f"loss {before:.3f} -> {after:.3f} in {stepper.updates} updates, {len(windows)} an epoch")

pairs = zip(model.parameters(), twin.parameters(), strict=True)
apart = max((ours - theirs).abs().max().item() for ours, theirs in pairs)
print(f"largest difference from training with batches of {big_batch}: {apart:.1e}")
if apart > 1e-12:
    raise SystemExit("this should have been the big batch")

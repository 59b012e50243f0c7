"""Fits a sparse linear model with mixed precision and an L1 penalty on its weights."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

# Only the first 4 of 40 features matter; the penalty should switch the others off.
true_weight = torch.zeros(40)
true_weight[:4] = torch.tensor([2.0, -1.5, 1.0, 0.5])
features = torch.randn(512, 40)
targets = features @ true_weight + 0.5 * torch.randn(512)
loader = DataLoader(TensorDataset(features, targets), batch_size=64, shuffle=True)

model = nn.Linear(40, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)

for _ in range(30):
    for batch, target in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cpu", dtype=torch.float16):
            prediction = model(batch).squeeze(1)
            loss = nn.functional.mse_loss(prediction, target)
        scaler.scale(loss).backward()

        # The penalty is cheap and exact in float32, so it stays outside autocast.
        penalty = 0.2 * model.weight.abs().sum()
        penalty.backward()  # GL404: an unscaled deposit on top of scaled ones
        scaler.step(optimizer)
        scaler.update()

useless = model.weight[0, 4:].abs().mean()
print(f"loss: {loss.item():.3f}")
print(f"mean size of the 36 weights that should be zero: {useless:.4f}")

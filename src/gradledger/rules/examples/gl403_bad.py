"""Trains a small convolutional network to tell horizontal bars from vertical ones."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

# Each 8x8 image has one bright row or one bright column, in noise.
labels = torch.randint(2, (256,))
positions = torch.randint(8, (256,))
images = 0.3 * torch.randn(256, 1, 8, 8)
for image, label, position in zip(images, labels, positions, strict=True):
    if label == 0:
        image[0, position, :] += 1.0
    else:
        image[0, :, position] += 1.0
loader = DataLoader(TensorDataset(images, labels), batch_size=32, shuffle=True)

model = nn.Sequential(
    nn.Conv2d(1, 8, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.AdaptiveMaxPool2d(1),
    nn.Flatten(),
    nn.Linear(8, 2),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)

for _ in range(10):
    for batch, targets in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(batch), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # GL403: no scaler.update() follows, so the next step is refused

print(f"loss of the last batch: {loss.item():.4f}")

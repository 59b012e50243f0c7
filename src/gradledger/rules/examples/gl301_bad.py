"""Trains a small CNN to tell horizontal bars from vertical ones, four micro-batches per step."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def make_images(count):
    """Noisy 8x8 images with one bright row (class 0) or column (class 1)."""
    labels = torch.randint(2, (count,))
    images = 0.5 * torch.randn(count, 1, 8, 8)
    for image, label in zip(images, labels, strict=True):
        place = int(torch.randint(8, ()))
        if label == 0:
            image[0, place, :] += 1.0
        else:
            image[0, :, place] += 1.0
    return images, labels


images, labels = make_images(512)
loader = DataLoader(TensorDataset(images, labels), batch_size=16, shuffle=True)

model = nn.Sequential(
    nn.Conv2d(1, 8, kernel_size=5),
    nn.ReLU(),
    nn.AdaptiveMaxPool2d(1),
    nn.Flatten(),
    nn.Linear(8, 2),
)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
accumulate = 4  # 32 batches of 16 an epoch: 8 steps, each worth a batch of 64

for epoch in range(13):
    total = 0.0
    for i, (x, y) in enumerate(loader):
        loss = loss_fn(model(x), y)
        total += loss.item()
        loss.backward()  # GL301: four means add up to four times the gradient of the 64 images
        if (i + 1) % accumulate == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
    if epoch % 6 == 0:
        print(f"epoch {epoch}: loss {total / len(loader):.4f}")

"""Fine-tunes an image classifier of ten classes on a new task of three."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 8, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
        )
        self.head = nn.Linear(32, classes)

    def forward(self, images):
        return self.head(self.backbone(images))


torch.manual_seed(0)

# Three kinds of images: noise, with a bright band at the top, or one at the left.
labels = torch.randint(3, (384,))
images = 0.5 * torch.randn(384, 1, 8, 8)
images[labels == 1, :, :3, :] += 1.0
images[labels == 2, :, :, :3] += 1.0
loader = DataLoader(TensorDataset(images, labels), batch_size=32, shuffle=True)

model = Classifier(classes=10)  # stands in for a network that was trained before
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
model.head = nn.Linear(32, 3)  # GL603: the optimizer still holds the old head
new_head = model.head.weight.detach().clone()
loss_fn = nn.CrossEntropyLoss()

for epoch in range(10):
    for batch, target in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(batch), target)
        loss.backward()
        optimizer.step()

moved = (model.head.weight.detach() - new_head).norm().item()
print(f"loss {loss.item():.4f}, the new head moved by {moved:.4f}")

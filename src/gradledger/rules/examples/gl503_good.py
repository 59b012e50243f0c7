"""Fine-tunes a new head on a frozen backbone with a learning rate that halves every epoch."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

# Stands in for a pretrained network: its features stay as they are.
backbone = nn.Sequential(nn.Linear(16, 64), nn.ReLU())
backbone.requires_grad_(False)
head = nn.Linear(64, 3)

inputs = torch.randn(480, 16)
labels = (inputs @ torch.randn(16, 3)).argmax(dim=1)
loader = DataLoader(TensorDataset(inputs, labels), batch_size=32, shuffle=True)

optimizer = torch.optim.SGD(head.parameters(), lr=0.4, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)

rates = []
for _ in range(5):
    rates.append(optimizer.param_groups[0]["lr"])
    for batch, target in loader:
        loss = nn.functional.cross_entropy(head(backbone(batch)), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    scheduler.step()  # fix: after the epoch that used this rate

with torch.no_grad():
    final_loss = nn.functional.cross_entropy(head(backbone(inputs)), labels)
print("learning rate of each epoch:", rates)
print(f"loss after training: {final_loss:.4f}")

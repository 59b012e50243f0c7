"""The plainest loop: a classifier of two interleaved spirals, one update for each batch."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from gradledger import Stepper

torch.manual_seed(0)

# two arms of 256 points; the second is the first one turned by half a circle
angle = torch.rand(256) * 6 + 0.5
arm = torch.stack([angle * torch.cos(angle), angle * torch.sin(angle)], dim=1) / 6
points = torch.cat([arm, -arm]) + 0.02 * torch.randn(512, 2)
labels = torch.cat([torch.zeros(256), torch.ones(256)]).long()
loader = DataLoader(TensorDataset(points, labels), batch_size=64, shuffle=True)

model = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
stepper = Stepper(model, optimizer, clip_norm=1.0)


@torch.no_grad()
def report(when: str) -> None:
    """How well the model does on all points."""
    logits = model(points)
    accuracy = (logits.argmax(dim=1) == labels).float().mean()
    print(f"{when}: loss {criterion(logits, labels):.3f}, accuracy {accuracy:.1%}")


report("before training")
for _epoch in range(25):
    for x, y in stepper.over(loader):
        loss = criterion(model(x), y)
        stepper.backward(loss, items=len(y))  # and that is all: no zero_grad(), no clip, no step()
report(f"after {stepper.updates} updates in {stepper.epoch} epochs")

print(f"norm of the last gradient, before it was clipped: {stepper.grad_norm:.3f}")
print(stepper.plan())

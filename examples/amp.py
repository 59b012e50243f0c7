"""Mixed precision: fp16 with a GradScaler, accumulation, clipping, param groups and a schedule.

The Stepper scales the loss, and unscales before it clips. A window that overflows is skipped, and
the schedule waits for it.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from gradledger import Stepper

torch.manual_seed(0)

# ten patterns, seen through noise
patterns = torch.randn(10, 64)
labels = torch.arange(10).repeat(100)
seen = patterns[labels] + 1.5 * torch.randn(len(labels), 64)
loader = DataLoader(TensorDataset(seen, labels), batch_size=32, shuffle=True)
epochs, accumulate = 6, 4

model = nn.Sequential(nn.Linear(64, 128), nn.LayerNorm(128), nn.GELU(), nn.Linear(128, 10))
criterion = nn.CrossEntropyLoss()

# matrices decay; biases and gains do not
matrices = [p for p in model.parameters() if p.dim() > 1]
others = [p for p in model.parameters() if p.dim() <= 1]
groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
optimizer = torch.optim.AdamW(groups, lr=3e-3)
updates = epochs * -(-len(loader) // accumulate)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=updates)
# far too high, so that you can see it come down; leave it out, or say "cuda", in earnest
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24)

stepper = Stepper(
    model,
    optimizer,
    accumulate=accumulate,
    clip_norm=1.0,
    scaler=scaler,
    scheduler=scheduler,
)


@torch.no_grad()
def report(when: str) -> None:
    """How well the model does."""
    logits = model(seen)
    accuracy = (logits.argmax(dim=1) == labels).float().mean()
    print(f"{when}: loss {criterion(logits, labels):.3f}, accuracy {accuracy:.1%}")


report("before training")
for _ in range(epochs):
    for x, y in stepper.over(loader):
        with torch.autocast("cpu", dtype=torch.float16):
            loss = criterion(model(x), y)
        stepper.backward(loss, items=len(y))  # not scaler.scale(loss): the Stepper does that
report("after training")

print(f"{stepper.skipped} windows overflowed, until the scale was {scaler.get_scale():,.0f}")
print(f"{stepper.updates} updates, and {scheduler.last_epoch} moves of the schedule")
print(f"norm of the last gradient, unscaled: {stepper.grad_norm:.3f}")
print(stepper.plan())

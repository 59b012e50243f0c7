import torch
from torch import nn


def idle_steps(clear, **options):
    """How far a parameter moves in ten steps in which it gets no gradient."""
    w = nn.Parameter(torch.tensor([1.0]))
    optimizer = torch.optim.SGD([w], lr=0.1, **options)
    (w * 2).sum().backward()
    optimizer.step()
    before = w.item()
    for _ in range(10):
        clear(optimizer, w)
        optimizer.step()
    return w.item() - before


def by_optimizer(optimizer, w):
    optimizer.zero_grad()


def to_zeros(optimizer, w):
    optimizer.zero_grad(set_to_none=False)


def by_hand(optimizer, w):
    if w.grad is not None:  # None after the first clear
        w.grad = None


print("                   momentum 0.9   weight decay 0.1")
for clear in (by_optimizer, by_hand, to_zeros):
    momentum, decay = idle_steps(clear, momentum=0.9), idle_steps(clear, weight_decay=0.1)
    print(f"{clear.__name__:14} {momentum:16.3f} {decay:18.3f}")

model = nn.Linear(1000, 1000)
model(torch.randn(1, 1000)).sum().backward()
model.zero_grad(set_to_none=False)
held = sum(p.grad.numel() * p.grad.element_size() for p in model.parameters())
model.zero_grad()
print(
    f"zeros hold {held / 1e6:.1f} MB, None holds",
    sum(p.grad is not None for p in model.parameters()),
)

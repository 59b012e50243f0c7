import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(32, 8, dtype=torch.float64), torch.randn(32, 1, dtype=torch.float64)
model = nn.Linear(8, 1).double()


def gradient(losses):
    model.zero_grad()
    for loss in losses:
        loss.backward()
    return torch.cat([p.grad.flatten() for p in model.parameters()])


def mean_loss(rows):
    return nn.functional.mse_loss(model(x[rows]), y[rows])


def sum_loss(rows):
    return nn.functional.mse_loss(model(x[rows]), y[rows], reduction="sum")


def compare(name, sizes, losses, *, items):
    big = gradient([mean_loss(slice(0, items))])
    window = gradient(losses)
    off = (window - big).norm() / big.norm()
    print(f"{name:44} micro-batches {sizes!s:14} {off:8.1%} off")


def rows(sizes):
    start = 0
    for size in sizes:
        yield slice(start, start + size)
        start += size


equal, unequal, short = (8, 8, 8, 8), (14, 2, 14, 2), (8, 8)
compare("not divided", equal, [mean_loss(r) for r in rows(equal)], items=32)
compare("mean / N", equal, [mean_loss(r) / 4 for r in rows(equal)], items=32)
compare("mean / N", unequal, [mean_loss(r) / 4 for r in rows(unequal)], items=32)
compare("sum / items of the window", unequal, [sum_loss(r) / 32 for r in rows(unequal)], items=32)
compare("short last window, mean / N", short, [mean_loss(r) / 4 for r in rows(short)], items=16)
compare(
    "short last window, sum / its own items",
    short,
    [sum_loss(r) / 16 for r in rows(short)],
    items=16,
)

window = [mean_loss(r) / 4 for r in rows(equal)]
gradient(window)
after = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
clipped = torch.cat([p.grad.flatten() for p in model.parameters()])
model.zero_grad()
for r in rows(equal):
    (mean_loss(r) / 4).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
each = torch.cat([p.grad.flatten() for p in model.parameters()])
print(
    f"clipped once, after the window: norm {clipped.norm():.3f}; "
    f"clipped after each micro-batch: {(each - clipped).norm() / clipped.norm():.1%} off"
)

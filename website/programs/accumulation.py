import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(32, 8, dtype=torch.float64), torch.randn(32, 1, dtype=torch.float64)
words = torch.randint(8, (32,))
words[13:16] = words[18:24] = words[31:] = -100  # padding, which cross_entropy ignores
model = nn.Linear(8, 1).double()
language_model = nn.Linear(8, 8).double()


def gradient(net, losses):
    net.zero_grad()
    for loss in losses:
        loss.backward()
    return torch.cat([p.grad.flatten() for p in net.parameters()])


def mse(rows, reduction="mean"):
    return nn.functional.mse_loss(model(x[rows]), y[rows], reduction=reduction)


def cross_entropy(rows, reduction="mean"):
    return nn.functional.cross_entropy(language_model(x[rows]), words[rows], reduction=reduction)


def compare(name, sizes, losses, big, net=model):
    expected = gradient(net, [big])
    off = (gradient(net, losses) - expected).norm() / expected.norm()
    print(f"{name:40} {sizes!s:16} {off:8.1%} off")


def rows(sizes):
    start = 0
    for size in sizes:
        yield slice(start, start + size)
        start += size


print("how the loss is divided                  micro-batches")
equal, unequal, short = (8, 8, 8, 8), (14, 2, 14, 2), (8, 8)
all_rows, first_half = slice(0, 32), slice(0, 16)
compare("not at all", equal, [mse(r) for r in rows(equal)], mse(all_rows))
compare("mean / N", equal, [mse(r) / 4 for r in rows(equal)], mse(all_rows))
compare("mean / N", unequal, [mse(r) / 4 for r in rows(unequal)], mse(all_rows))
compare("sum / items", unequal, [mse(r, "sum") / 32 for r in rows(unequal)], mse(all_rows))
compare("short last window: mean / N", short, [mse(r) / 4 for r in rows(short)], mse(first_half))
compare("the same: mean / 2", short, [mse(r) / 2 for r in rows(short)], mse(first_half))

tokens = [int((words[r] != -100).sum()) for r in rows(equal)]
losses = [cross_entropy(r) / 4 for r in rows(equal)]
compare("tokens: mean / N", tokens, losses, cross_entropy(all_rows), language_model)
losses = [cross_entropy(r, "sum") / sum(tokens) for r in rows(equal)]
compare("tokens: sum / tokens", tokens, losses, cross_entropy(all_rows), language_model)


def clipped(*, each):
    model.zero_grad()
    for r in rows(equal):
        (mse(r) / 4).backward()
        if each:
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    return torch.cat([p.grad.flatten() for p in model.parameters()])


once, each = clipped(each=False), clipped(each=True)
off = (each - once).norm() / once.norm()
print(f"clipped after each micro-batch, not once after the window: {off:.1%} off")

import torch
from torch import nn

good = [torch.full((4, 1), value) for value in (1.0, 2.0, 1.0, 2.0)]
bad = torch.full((4, 1), float("nan"))
batches = [*good[:2], bad, *good[2:]]


def train(batches, *, clears):
    torch.manual_seed(0)
    model = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    in_window = 0
    for x in batches:
        try:
            loss = (model(x) - 3 * x).square().mean() / 2
            loss.backward()
            if not torch.isfinite(loss):
                raise ValueError("a bad batch")
        except ValueError:
            if clears:
                optimizer.zero_grad()
                in_window = 0  # the window starts again
            continue
        in_window += 1
        if in_window == 2:
            optimizer.step()
            optimizer.zero_grad()
            in_window = 0
    return model.weight.item()


print(f"skipped, and nothing cleared:  {train(batches, clears=False):.4f}")
print(f"skipped, and cleared:          {train(batches, clears=True):.4f}")
print(f"without the bad batch:         {train(good, clears=True):.4f}")

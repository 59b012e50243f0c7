import torch
from torch import nn

batches = [torch.full((4, 1), value) for value in (1.0, 2.0, float("nan"), 1.0, 2.0, 1.0)]


def train(on_error):
    torch.manual_seed(0)
    model = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    optimizer.zero_grad()
    for i, x in enumerate(batches):
        try:
            loss = (model(x) - 3 * x).square().mean() / 2
            loss.backward()
            if not torch.isfinite(loss):
                raise ValueError("a bad batch")
        except ValueError:
            on_error(optimizer)
            continue
        if (i + 1) % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
    return model.weight.item()


print("swallowed:", train(lambda optimizer: None))
print("cleared:  ", f"{train(lambda optimizer: optimizer.zero_grad()):.3f}")

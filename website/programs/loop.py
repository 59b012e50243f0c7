import torch
from torch import nn

x = torch.linspace(-1, 1, 64).unsqueeze(1)
y = 3 * x + 0.5


def train(clear_at):
    torch.manual_seed(0)
    model = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(50):
        if clear_at == "before the forward pass":
            optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        if clear_at == "before the backward pass":
            optimizer.zero_grad()
        loss.backward()
        if clear_at == "before the step":
            optimizer.zero_grad()
        optimizer.step()
        if clear_at == "after the step":
            optimizer.zero_grad()
    return model.weight.item(), model.bias.item()


for place in (
    "before the forward pass",
    "before the backward pass",
    "after the step",
    "before the step",
):
    weight, bias = train(place)
    print(f"{place:25} weight {weight:7.4f}  bias {bias:7.4f}")

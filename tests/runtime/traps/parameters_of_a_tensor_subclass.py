"""Parameters that are made of two tensors each, as quantized ones are; torch swaps to convert."""

# mypy: ignore-errors

import torch
from torch import nn
from torch.testing._internal.two_tensor import TwoTensor

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(12, 8, 4), torch.randn(12, 8, 1)


def train(turns: range) -> None:
    for i in turns:
        optimizer.zero_grad()
        kind = model.bias.dtype
        loss = nn.functional.mse_loss(model(x[i].to(kind)), y[i].to(kind))
        loss.backward()
        optimizer.step()


train(range(4))
model._apply(lambda tensor: TwoTensor(tensor.detach().clone(), tensor.detach().clone()))
train(range(4, 8))
model.double()
optimizer.zero_grad()
model.load_state_dict({name: value.detach() for name, value in model.state_dict().items()})
train(range(8, 10))
model = nn.Linear(4, 1, device="meta").to_empty(device="cpu")
model.load_state_dict({"weight": torch.ones(1, 4), "bias": torch.zeros(1)}, assign=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
train(range(10, 12))
print(model.weight)

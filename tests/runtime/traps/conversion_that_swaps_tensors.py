"""Parameters converted to other types in the middle of training: their contents are swapped."""

# mypy: ignore-errors

import torch
from torch import nn

torch.__future__.set_swap_module_params_on_conversion(True)
torch.manual_seed(0)


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.second.weight = self.first.weight
        self.head = nn.Linear(4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.tanh(self.second(torch.tanh(self.first(x)))))


model = Tied()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, foreach=False)
x, y = torch.randn(24, 8, 4), torch.randn(24, 8, 1)
for i in range(24):
    kind = model.head.weight.dtype
    loss = nn.functional.mse_loss(model(x[i].to(kind)), y[i].to(kind)) / 4
    loss.backward()
    if i == 5:
        model.double()  # with gradients in it
    if i == 14:
        model.to(torch.float32)
    if i == 16:
        model.head.to(torch.float32)
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
        if i == 11:
            state = {name: value + 0.01 for name, value in model.state_dict().items()}
            model.load_state_dict(state)
print([parameter.double().sum().item() for parameter in model.parameters()])

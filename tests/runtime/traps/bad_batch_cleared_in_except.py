"""A batch whose backward fails is dropped whole: what it left is cleared in the except."""
# mypy: ignore-errors

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
backwards = 0


def fail_now_and_then(grad: Tensor) -> None:
    global backwards
    backwards += 1
    if backwards % 5 == 0:
        raise RuntimeError("out of memory (as good as)")


model[0].weight.register_hook(fail_now_and_then)

for _epoch in range(3):
    for inputs, targets in loader:
        try:
            loss = nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
        except RuntimeError:
            optimizer.zero_grad()
            continue
        optimizer.step()
        optimizer.zero_grad()

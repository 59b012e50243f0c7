"""A timeout between clip and step: what is there is cleared, and the update is made once more."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8)

model = nn.Linear(4, 1)
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
asked = 0


def ask_the_others() -> None:
    global asked
    asked += 1
    if asked % 5 == 4:
        raise TimeoutError("nobody answers")


def update(inputs: torch.Tensor, targets: torch.Tensor) -> None:
    loss_fn(model(inputs), targets).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    ask_the_others()
    optimizer.step()
    optimizer.zero_grad()


for _epoch in range(2):
    for inputs, targets in loader:
        for _attempt in range(3):
            try:
                update(inputs, targets)
                break
            except TimeoutError:
                model.zero_grad()

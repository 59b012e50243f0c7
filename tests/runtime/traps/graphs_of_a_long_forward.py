"""A forward pass that is too long for the memory keeps nothing that it does not need."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(96, 8)
loader = DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=4)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loss_fn = nn.CrossEntropyLoss()


class Unrolled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(8, 16)
        self.head = nn.Linear(16, 2)

    def forward(self, inputs: torch.Tensor, steps: int) -> torch.Tensor:
        state, states = torch.zeros(len(inputs), 16), []
        for _ in range(steps):
            state = self.cell(inputs, state)
            states.append(state)
        if steps > 50:
            torch.empty(10**15)  # dies: of this one pass
        return self.head(torch.stack(states).mean(0))


unrolled = Unrolled()
optimizer = torch.optim.SGD(unrolled.parameters(), lr=0.01)
for inputs, labels in loader:
    optimizer.zero_grad()
    loss_fn(unrolled(inputs, 5), labels).backward()
    optimizer.step()
unrolled.eval()
for number, (inputs, _) in enumerate(loader):
    unrolled(inputs, 60 if number == 10 else 5)

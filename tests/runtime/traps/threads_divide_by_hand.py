"""Three models in three threads, each of which divides its windows' gradients by hand."""
# mypy: ignore-errors

import threading

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(32, 4)
y = x.sum(dim=1, keepdim=True)


def train() -> None:
    model = nn.Sequential(*(nn.Linear(4, 4) for _ in range(4)), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    for _epoch in range(4):
        for i, (inputs, targets) in enumerate(DataLoader(TensorDataset(x, y), batch_size=4)):
            nn.functional.mse_loss(model(inputs), targets).backward()
            if (i + 1) % 4 == 0:
                for parameter in model.parameters():
                    parameter.grad.div_(4)
                optimizer.step()
                optimizer.zero_grad()


threads = [threading.Thread(target=train) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

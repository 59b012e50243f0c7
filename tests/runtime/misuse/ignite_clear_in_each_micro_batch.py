"""The update function steps on every fourth batch, and clears on each."""
# mypy: ignore-errors

import torch
from ignite.engine import Engine
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8)  # 8 batches
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def update(engine: Engine, batch: list[Tensor]) -> float:
    inputs, targets = batch
    optimizer.zero_grad()  # GL201: drops three micro-batches of four
    loss = nn.functional.mse_loss(model(inputs), targets) / 4
    loss.backward()
    if engine.state.iteration % 4 == 0:
        optimizer.step()
    return loss.item()


Engine(update).run(loader, max_epochs=2)

"""The update function adds up four means."""
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
    loss = nn.functional.mse_loss(model(inputs), targets)
    loss.backward()  # GL301: not divided by the window
    if engine.state.iteration % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
    return loss.item()


Engine(update).run(loader, max_epochs=2)

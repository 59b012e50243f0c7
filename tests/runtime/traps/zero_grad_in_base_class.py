"""The base class keeps the cycle; the subclass brings model and loss."""
# mypy: ignore-errors

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Trainer(ABC):
    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    @abstractmethod
    def loss(self, batch: list[Tensor]) -> Tensor: ...

    def before_batch(self) -> None:
        self.optimizer.zero_grad()

    def fit(self, loader: DataLoader, epochs: int) -> None:
        for _epoch in range(epochs):
            for batch in loader:
                self.before_batch()
                self.loss(batch).backward()
                self.optimizer.step()


class Regression(Trainer):
    def before_batch(self) -> None:
        self.model.train()
        super().before_batch()

    def loss(self, batch: list[Tensor]) -> Tensor:
        inputs, targets = batch
        return nn.functional.huber_loss(self.model(inputs), targets)


x = torch.randn(64, 4)
y = x.sum(dim=1, keepdim=True)
Regression(nn.Linear(4, 1)).fit(DataLoader(TensorDataset(x, y), batch_size=8), epochs=3)

"""The loss function divides by the window, and so does the supervised trainer."""
# mypy: ignore-errors

import torch
from ignite.engine import create_supervised_trainer
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

ACCUMULATE = 4

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8)  # 8 batches
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def loss_fn(predicted: Tensor, wanted: Tensor) -> Tensor:
    loss = nn.functional.mse_loss(predicted, wanted)
    return loss / ACCUMULATE  # GL303: ignite divides as well


trainer = create_supervised_trainer(
    model, optimizer, loss_fn, gradient_accumulation_steps=ACCUMULATE
)
trainer.run(loader, max_epochs=2)

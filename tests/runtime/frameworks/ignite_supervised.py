"""Ignite's own trainer, with windows of four that straddle epochs, and an evaluator."""
# mypy: ignore-errors

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import MeanSquaredError
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(80, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
trainer = create_supervised_trainer(model, optimizer, nn.MSELoss(), gradient_accumulation_steps=4)
evaluator = create_supervised_evaluator(model, metrics={"mse": MeanSquaredError()})
trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda: evaluator.run(loader))
trainer.run(loader, max_epochs=2)  # 20 batches

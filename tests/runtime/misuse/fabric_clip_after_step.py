"""The clip comes when the gradients are spent."""
# mypy: ignore-errors

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fabric = lightning.Fabric(accelerator="cpu", devices=1)
fabric.launch()
fabric.seed_everything(0, verbose=False)

x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8, shuffle=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
model, optimizer = fabric.setup(model, optimizer)
loader = fabric.setup_dataloaders(loader)

for _epoch in range(2):
    for inputs, targets in loader:  # 8 batches
        loss = nn.functional.mse_loss(model(inputs), targets)
        fabric.backward(loss)
        optimizer.step()
        fabric.clip_gradients(model, optimizer, max_norm=0.1)  # GL501: the step is over
        optimizer.zero_grad()

"""The last epochs are averaged, and batch norm is made anew for the average."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4))
averaged = AveragedModel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
swa_scheduler = SWALR(optimizer, swa_lr=0.05, anneal_epochs=1)

for epoch in range(5):
    for inputs, labels in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
    if epoch >= 3:
        averaged.update_parameters(model)
        swa_scheduler.step()
    else:
        scheduler.step()
update_bn(loader, averaged)

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from gradledger import Stepper

torch.manual_seed(0)
x = torch.randn(360, 8)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)

stepper = Stepper(model, optimizer, accumulate=4)
for epoch in range(3):
    for inputs, targets in stepper.over(loader):
        loss = nn.functional.mse_loss(model(inputs), targets)
        stepper.backward(loss, items=len(inputs))
    print(f"epoch {epoch}: loss {loss.item():.3f}, {stepper.updates} updates")

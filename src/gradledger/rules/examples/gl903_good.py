"""Fits a bfloat16 model by full-batch gradient descent: one step per pass over the data."""

import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

inputs = torch.randn(2048, 8)
targets = 3.0 + inputs @ torch.randn(8, 1)
loader = DataLoader(TensorDataset(inputs, targets), batch_size=4)  # 512 batches

model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)).to(torch.bfloat16)
for parameter in model.parameters():
    parameter.grad_dtype = torch.float32  # fix: gradients add up in single precision
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_fn = nn.MSELoss()

for epoch in range(3):
    optimizer.zero_grad()

    # What the step should see: the gradient of all the data at once, in double precision.
    double = copy.deepcopy(model).double()
    loss = loss_fn(double(inputs.double()), targets.double())
    exact = torch.autograd.grad(loss, list(double.parameters()))

    for x, y in loader:
        prediction = model(x.to(torch.bfloat16)).float()
        (loss_fn(prediction, y) / len(loader)).backward()

    summed = torch.cat([p.grad.double().flatten() for p in model.parameters()])
    exact = torch.cat([g.flatten() for g in exact])
    error = ((summed - exact).norm() / exact.norm()).item()
    print(f"pass {epoch}: loss {loss.item():.4f}, gradient off by {error:.2%}")
    optimizer.step()

import torch

torch.manual_seed(0)
w = torch.randn(3, requires_grad=True)  # a leaf: it has a cell
x = torch.randn(3)  # requires no gradient: it has none
optimizer = torch.optim.SGD([w], lr=0.1)

for step in range(3):
    h = w * x  # a result: no cell either
    loss = h.square().sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()

import torch

w = torch.tensor([3.0], requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)

for step in range(3):
    (w**2).sum().backward()
    (w**2).sum().backward()
    optimizer.step()
    optimizer.zero_grad()

import torch
from torch import nn

x = torch.linspace(-1, 1, 64).unsqueeze(1)
y = 3 * x + 0.5


def train(clears):
    torch.manual_seed(0)
    model = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    shown = []
    for _ in range(12):
        if clears:
            optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        shown.append((model.bias.grad.item(), model.bias.item()))
        optimizer.step()
    return shown


right, wrong = train(True), train(False)
print("iteration   with zero_grad: grad, bias     without: grad, bias")
for i, ((grad, bias), (grad_w, bias_w)) in enumerate(zip(right, wrong), start=1):
    print(f"{i:9}   {grad:14.3f} {bias:11.3f} {grad_w:14.3f} {bias_w:9.3f}")

"""LoRA: a trained net learns a new task by two thin matrices beside each of its layers.

The layers themselves are frozen. Only the adapters are the optimizer's, so the Stepper deposits
into them and into nothing else.
"""

import math

import torch
from torch import Tensor, nn

from gradledger import Stepper

torch.manual_seed(0)


class Adapted(nn.Module):
    """A frozen layer, and what is added to it: two matrices of low rank."""

    def __init__(self, layer: nn.Linear, rank: int) -> None:
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, layer.in_features) / math.sqrt(rank))
        self.up = nn.Parameter(torch.zeros(layer.out_features, rank))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.layer(x) + x @ self.down.T @ self.up.T
        return out


def train(model: nn.Module, x: Tensor, y: Tensor, *, epochs: int) -> float:
    """In windows of four micro-batches; gives the last loss over all data."""
    trainable = [p for p in model.parameters() if p.requires_grad]
    stepper = Stepper(model, torch.optim.AdamW(trainable, lr=1e-2), accumulate=4, clip_norm=1.0)
    for _ in range(epochs):
        order = torch.randperm(len(x))
        for rows in stepper.over(torch.split(order, 24)):
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
            stepper.backward(loss, items=len(rows))
    with torch.no_grad():
        return nn.functional.cross_entropy(model(x), y).item()


x = torch.randn(500, 16)
old, new = torch.randn(16, 4), torch.randn(16, 4)
net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))
print(f"the first task:  loss {train(net, x, (x @ old).argmax(1), epochs=20):.3f}")

before = [p.detach().clone() for p in net.parameters()]
adapted = nn.Sequential(*(Adapted(m, 4) if isinstance(m, nn.Linear) else m for m in net))
with torch.no_grad():
    start = nn.functional.cross_entropy(adapted(x), (x @ new).argmax(1)).item()
after = train(adapted, x, (x @ new).argmax(1), epochs=40)
print(f"the second task: loss {start:.3f} before, {after:.3f} after")

trained = sum(p.numel() for p in adapted.parameters() if p.requires_grad)
print(f"trained: {trained} of {sum(p.numel() for p in adapted.parameters())} numbers")
if not all(map(torch.equal, net.parameters(), before)):
    raise SystemExit("the frozen layers should have stayed as they were")
print("the frozen layers are, bit for bit, what they were")

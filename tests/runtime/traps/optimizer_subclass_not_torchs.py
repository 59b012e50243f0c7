"""Lion: an optimizer that is not torch's, on a small net."""
# mypy: ignore-errors

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Lion(torch.optim.Optimizer):
    def __init__(self, params: Iterable[Tensor], lr: float = 1e-3, decay: float = 0.0) -> None:
        super().__init__(params, {"lr": lr, "betas": (0.9, 0.99), "decay": decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], Tensor] | None = None) -> Tensor | None:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["average"] = torch.zeros_like(p)
                average = state["average"]
                p.mul_(1 - group["lr"] * group["decay"])
                p.add_(torch.lerp(p.grad, average, beta1).sign_(), alpha=-group["lr"])
                average.lerp_(p.grad, 1 - beta2)
        return loss


x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
optimizer = Lion(model.parameters(), lr=1e-3, decay=0.01)

for _epoch in range(3):
    for inputs, labels in loader:
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

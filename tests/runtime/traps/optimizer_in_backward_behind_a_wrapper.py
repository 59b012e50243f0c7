"""Each parameter steps in a hook of the backward; what the loop calls does nothing by design."""
# mypy: ignore-errors

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


class OptimizerInBackward(torch.optim.Optimizer):
    def __init__(self, params: Iterable[Tensor], kind: type, lr: float) -> None:
        params = list(params)
        self.optimizers = {p: kind([p], lr=lr) for p in params}
        super().__init__(params, {"lr": lr})
        for p in params:
            p.register_post_accumulate_grad_hook(self.step_one)

    def step_one(self, parameter: Tensor) -> None:
        self.optimizers[parameter].step()
        self.optimizers[parameter].zero_grad()

    def step(self, closure: object = None) -> None:
        pass

    def zero_grad(self, set_to_none: bool = True) -> None:
        pass


torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
optimizer = OptimizerInBackward(model.parameters(), torch.optim.AdamW, lr=0.01)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)

for _epoch in range(3):
    for inputs, labels in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
    scheduler.step()

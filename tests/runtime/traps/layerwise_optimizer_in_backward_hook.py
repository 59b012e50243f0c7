"""Each parameter steps as soon as its gradient is there, and lets it go: no step in the loop."""
# mypy: ignore-errors

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
optimizers = {p: torch.optim.Adam([p], lr=0.01, foreach=False) for p in model.parameters()}


def optimizer_hook(parameter: Tensor) -> None:
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()


for p in model.parameters():
    p.register_post_accumulate_grad_hook(optimizer_hook)

for _epoch in range(3):
    for inputs, labels in loader:
        nn.functional.cross_entropy(model(inputs), labels).backward()

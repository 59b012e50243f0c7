"""LBFGS: an optimizer that asks for the loss many times within one step.

It wants the same data each time, all of it, and exactly. A window over the whole data set gives it
that, in micro-batches that fit into memory.
"""

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from gradledger import Stepper

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)

# a decaying oscillation, measured at 250 moments; which one is it?
true = {"height": 2.0, "decay": 0.3, "pace": 1.7, "shift": 0.4}
moments = 10 * torch.rand(250)


class Oscillation(nn.Module):
    """A curve that has four unknowns."""

    def __init__(self, height: float, decay: float, pace: float, shift: float) -> None:
        super().__init__()
        self.height = nn.Parameter(torch.tensor(height))
        self.decay = nn.Parameter(torch.tensor(decay))
        self.pace = nn.Parameter(torch.tensor(pace))
        self.shift = nn.Parameter(torch.tensor(shift))

    def forward(self, t: Tensor) -> Tensor:
        """How far out it is at these moments."""
        return self.height * torch.exp(-self.decay * t) * torch.cos(self.pace * t + self.shift)


with torch.no_grad():
    measured = Oscillation(**true)(moments) + 0.01 * torch.randn(len(moments))
loader = DataLoader(TensorDataset(moments, measured), batch_size=64)

model = Oscillation(height=1.0, decay=0.1, pace=1.5, shift=0.0)
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=5, line_search_fn="strong_wolfe")
stepper = Stepper(model, optimizer, accumulate=len(loader))  # a window is all of the data
asked = 0


def loss_fn(batch: list[Tensor]) -> Tensor:
    """What LBFGS asks for, of each micro-batch of the window."""
    global asked
    asked += 1
    t, y = batch
    return nn.functional.mse_loss(model(t), y)


for _ in range(5):
    total = 0.0
    for batch in stepper.over(loader):
        total += stepper.run(batch, loss_fn).item() * len(batch[0])
    print(f"loss before update {stepper.updates}: {total / len(moments):.6f}")

found = {name: p.item() for name, p in model.named_parameters()}
for name, value in found.items():
    print(f"{name}: {value:.3f} found, {true[name]} is true")
each = asked / len(loader) / stepper.updates
print(f"{stepper.updates} updates; for each, LBFGS asked {each:.1f} times for loss and gradient")

"""Out of memory: a batch that does not fit is halved until it does, and the update is the same.

There is no small GPU to be had here, so a model complains when it is given too many rows.
"""

import copy

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from gradledger import Stepper

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)  # so that a difference would be a mistake, not rounding


class SmallMemory(nn.Module):
    """A net on a device that has room for a few rows."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room
        self.layers = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Raises what CUDA would raise."""
        if len(x) > self.room:
            raise torch.OutOfMemoryError(f"CUDA out of memory (simulated, {len(x)} rows)")
        seen.append(len(x))
        out: Tensor = self.layers(x)
        return out


# a hilly landscape: where, and how high
places = 4 * torch.rand(200, 2) - 2
heights = torch.sin(2 * places[:, :1]) * torch.cos(places[:, 1:])
loader = DataLoader(TensorDataset(places, heights), batch_size=64)  # the last one has 8
seen: list[int] = []  # how many rows the model got, each time that it did not run out


def train(model: SmallMemory) -> Stepper:
    """The usual loop, with forward and backward in one, so that both can be tried again."""
    stepper = Stepper(model, torch.optim.Adam(model.parameters(), lr=1e-2), clip_norm=1.0)
    for epoch in range(15):
        total = 0.0
        for batch in stepper.over(loader):
            loss = stepper.run(batch, lambda part: nn.functional.mse_loss(model(part[0]), part[1]))
            total += loss.item() * len(batch[0])
        if epoch % 14 == 0:
            print(f"  epoch {epoch + 1}: loss {total / len(places):.4f}, in pieces of {seen}")
        seen.clear()
    return stepper


ample = SmallMemory(room=1000)
small = copy.deepcopy(ample)
small.room = 40

print("enough memory:")
train(ample)
print(f"room for {small.room} rows:")
stepper = train(small)  # a StepperWarning tells at which size it arrived

apart = max(
    (a - b).abs().max() for a, b in zip(ample.parameters(), small.parameters(), strict=True)
)
print(f"after {stepper.updates} updates the weights differ by {apart:.1e} at most")
if apart > 1e-12:
    raise SystemExit("they should not differ")

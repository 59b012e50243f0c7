"""Bad batches: a file that can't be read, a value that can't be, a reading that is NaN.

A micro-batch that fails is left out of its window, which is weighed without it, or takes its whole
window along, as you choose. A window that is not finite makes no update: a StepperWarning tells.
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from gradledger import Stepper

torch.manual_seed(0)


class Sensors(Dataset[tuple[Tensor, Tensor]]):
    """Five readings each, and the temperature that they tell."""

    def __init__(self) -> None:
        self.readings = torch.randn(640, 5)
        self.temperatures = self.readings @ torch.tensor([1.0, -2.0, 0.5, 3.0, 0.0])
        self.readings[333, 2] = torch.nan  # a sensor was unplugged
        self.temperatures[500] = 999.0  # somebody mistyped

    def __len__(self) -> int:
        return len(self.readings)

    def __getitem__(self, i: int) -> tuple[Tensor, Tensor]:
        """Reads a file, or so."""
        if i == 100:
            raise OSError(f"file {i} is damaged")
        return self.readings[i], self.temperatures[i]


def train(on_fault: Literal["continue", "drop"]) -> None:
    """Three epochs, whatever happens."""
    print(f'on_fault="{on_fault}"')
    model = nn.Linear(5, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    stepper = Stepper(model, optimizer, accumulate=4, on_fault=on_fault)
    for epoch in range(3):
        losses = []
        batches = stepper.over(loader)
        while True:
            try:
                for x, y in batches:  # after an exception, this goes on with the next batch
                    if y.abs().max() > 100:
                        raise ValueError(f"no temperature is {y.abs().max():g}")
                    loss = nn.functional.mse_loss(model(x).squeeze(1), y)
                    stepper.backward(loss, items=len(y))
                    losses.append(loss.detach())
                break
            except (OSError, ValueError) as error:
                if epoch == 0:
                    print(f"  survived: {error}")
        print(f"  epoch {epoch + 1}: loss {torch.stack(losses).nanmean():.4f}")
    print(f"  updates {stepper.updates}, not finite {stepper.skipped}, dropped {stepper.dropped}")
    print(f"  the last one not finite: {stepper.last_skip}")
    if not model.weight.isfinite().all():
        raise SystemExit("a NaN has come through")


loader = DataLoader(Sensors(), batch_size=16)
train("continue")
train("drop")

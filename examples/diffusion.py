"""Diffusion: a net learns to take noise away, and an average of its weights (EMA) follows it.

The average follows updates, not batches. A hook on the optimizer's step hears of every update, also
of the one that the end of the data makes.
"""

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import DataLoader, TensorDataset

from gradledger import Stepper

torch.manual_seed(0)
STEPS = 40

# what is to be drawn: points on a circle
angles = torch.rand(2000) * 2 * torch.pi
points = torch.stack([angles.cos(), angles.sin()], 1)
loader = DataLoader(TensorDataset(points), batch_size=96, shuffle=True)
kept = torch.cumprod(1 - torch.linspace(1e-3, 0.25, STEPS), 0)
"""How much of a point is left after so many steps of noise."""

model = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2))
average = AveragedModel(model, avg_fn=lambda old, new, _: torch.lerp(old, new, 0.02))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
optimizer.register_step_post_hook(lambda *_: average.update_parameters(model))
stepper = Stepper(model, optimizer, accumulate=2, clip_norm=1.0)


def predicted(net: nn.Module, noisy: Tensor, step: Tensor) -> Tensor:
    """The noise that the net sees."""
    noise: Tensor = net(torch.cat([noisy, step[:, None] / STEPS], 1))
    return noise


@torch.no_grad()
def distance(net: nn.Module) -> float:
    """How far from the circle drawn points are, on average."""
    torch.manual_seed(1)
    drawn = torch.randn(1000, 2)
    for i in reversed(range(STEPS)):
        step = torch.full((len(drawn),), float(i))
        ratio = kept[i] / (kept[i - 1] if i else 1.0)
        drawn = (
            drawn - (1 - ratio) / (1 - kept[i]).sqrt() * predicted(net, drawn, step)
        ) / ratio.sqrt()
        drawn = drawn + (i > 0) * (1 - ratio).sqrt() * torch.randn_like(drawn)
    return float((drawn.norm(dim=1) - 1).abs().mean())


print(f"before: drawn points are {distance(model):.2f} away from the circle")
for _ in range(12):
    for (point,) in stepper.over(loader):
        step = torch.randint(STEPS, (len(point),))
        noise = torch.randn_like(point)
        noisy = kept[step, None].sqrt() * point + (1 - kept[step, None]).sqrt() * noise
        loss = (predicted(model, noisy, step.float()) - noise).square().mean()
        stepper.backward(loss, items=len(point))
print(f"after:  {distance(model):.2f}, and {distance(average):.2f} by the averaged weights")
print(f"{stepper.updates} updates, {int(average.n_averaged)} of them in the average")
if stepper.updates != int(average.n_averaged):
    raise SystemExit("every update should have been in the average")

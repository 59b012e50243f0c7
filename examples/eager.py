"""Eager release: each gradient is spent as it arrives, and freed, before the next one is there.

The same training twice: the weights are the same, the memory that gradients take is not.
"""

import torch
from torch import nn
from torch.optim.optimizer import Optimizer
from torch.utils.data import DataLoader, TensorDataset

from gradledger import Stepper

# an autoencoder, deep enough that its gradients matter
torch.manual_seed(0)
mixing = torch.randn(4, 64)
signals = torch.tanh(torch.randn(320, 4) @ mixing)  # 64 numbers that depend on four
loader = DataLoader(TensorDataset(signals), batch_size=32)


def train(*, eager: bool) -> tuple[nn.Module, int]:
    """The trained model, and the most bytes that gradients took when the optimizer stepped."""
    torch.manual_seed(1)
    layers = [layer for _ in range(8) for layer in (nn.Linear(64, 64), nn.LayerNorm(64), nn.Tanh())]
    model = nn.Sequential(*layers, nn.Linear(64, 64))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    peak = 0

    def measure(_: Optimizer, args: object, kwargs: object) -> None:
        nonlocal peak
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        peak = max(peak, sum(g.nbytes for g in grads))

    optimizer.register_step_pre_hook(measure)
    stepper = Stepper(model, optimizer, release="eager" if eager else "window")
    losses = []
    for _ in range(2):
        for (x,) in stepper.over(loader):
            loss = nn.functional.mse_loss(model(x), x)
            stepper.backward(loss)
            losses.append(loss.item())
    name = "eager" if eager else "window"
    print(f"{name}: loss {losses[0]:.3f} -> {losses[-1]:.3f}, {peak:,} bytes of gradients")
    return model, peak


usual, much = train(eager=False)
eager, little = train(eager=True)
pairs = zip(usual.parameters(), eager.parameters(), strict=True)
same = all(torch.equal(a, b) for a, b in pairs)
print(
    f"{little / much:.1%} of the memory; the weights are {'the same' if same else 'not the same'}"
)
if not same:
    raise SystemExit("they should be, bit for bit")

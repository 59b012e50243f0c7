"""Resume: cut off in the middle of a window, and gone on with bit for bit from the last checkpoint.

Dropout, shuffling, moments, a schedule and half a window: all that matters is in one file.
"""

import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from gradledger import Stepper

# points in a ring, or not
torch.manual_seed(0)
points = 2 * torch.rand(300, 2) - 1
inside = ((points.norm(dim=1) - 0.6).abs() < 0.2).float().unsqueeze(1)
dataset = TensorDataset(points, inside)
criterion = nn.BCEWithLogitsLoss()


class PowerCut(Exception):
    """The end of a run that nobody wanted."""


def train(checkpoint: Path, *, seed: int, cut_at: int | None = None) -> nn.Module:
    """What a training script does from its first line to its last. It begins where it left off."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.03)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.99)
    loader = DataLoader(dataset, batch_size=16, shuffle=True)
    stepper = Stepper(model, optimizer, accumulate=4, clip_norm=1.0, scheduler=scheduler)
    if checkpoint.exists():
        stepper.load(checkpoint)
        print(f"  goes on at update {stepper.updates}, in epoch {stepper.epoch + 1}, ", end="")
        print(f"with {stepper.micro_batches} micro-batches in the window")

    turn = 0
    for _ in range(stepper.epoch, 12):
        for x, y in stepper.over(loader):
            loss = criterion(model(x), y)
            stepper.backward(loss, items=len(y))
            turn += 1
            if turn % 30 == 0:
                stepper.save(checkpoint)
            if turn == cut_at:
                raise PowerCut
    model.eval()
    print(f"  {stepper.updates} updates, loss {criterion(model(points), inside).item():.6f}")
    return model


with tempfile.TemporaryDirectory() as folder:
    print("a run that nothing happens to")
    whole = train(Path(folder, "whole.pt"), seed=1)

    print("the same, and the power fails")
    try:
        train(Path(folder, "cut.pt"), seed=1, cut_at=105)
    except PowerCut:
        print("  gone, but for the file")

    print("new objects, another seed, the file")
    resumed = train(Path(folder, "cut.pt"), seed=2)

same = all(map(torch.equal, whole.state_dict().values(), resumed.state_dict().values()))
print(f"the weights of both are {'the same, bit for bit' if same else 'not the same'}")
if not same:
    raise SystemExit("they should be")

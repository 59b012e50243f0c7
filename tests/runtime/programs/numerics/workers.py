"""Shuffles, drops out and augments, with three random generators and workers that load."""

from __future__ import annotations

import random

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, random_split


class Noisy(Dataset[tuple[Tensor, Tensor]]):
    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        x = torch.full((3,), float(index)) / 40 + torch.rand(3) * 0.1
        return x, x.sum()


if __name__ == "__main__":
    torch.manual_seed(2)
    random.seed(2)
    train, held_out = random_split(Noisy(), [32, 8])
    loader = DataLoader(train, batch_size=8, shuffle=True, num_workers=2)
    model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 1))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 3)
    seen = []
    for epoch in range(3):
        for x, y in loader:
            if random.random() < 0.5:
                x = x.flip(1)
            x = x + torch.from_numpy(np.random.normal(size=tuple(x.shape))).float() * 0.01
            optimizer.zero_grad()
            loss = (model(x).squeeze(1) - y).pow(2).mean()
            loss.backward()
            optimizer.step()
            seen.append(loss.item())
        scheduler.step()
        if epoch == 1:
            torch.manual_seed(7)
        with torch.no_grad():
            seen += [float(model(x).sum()) for x, _ in DataLoader(held_out, batch_size=4)]
    print(seen)

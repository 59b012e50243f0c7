"""Several levels of noise on one batch, each with a backward: none is a batch of its own."""
# mypy: ignore-errors

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 6))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)

for _ in range(5):
    clean = torch.randn(8, 6)
    optimizer.zero_grad()
    for _ in range(4):
        noise, level = torch.randn_like(clean), torch.rand(8, 1)
        noised = (1 - level) * clean + level * noise
        nn.functional.mse_loss(net(noised), noise).backward()
    optimizer.step()


class Trainer:
    def noised(self) -> tuple[torch.Tensor, torch.Tensor]:
        noise = torch.randn_like(self.clean)
        return self.clean + noise, noise

    def train(self) -> None:
        for _ in range(5):
            self.clean = torch.randn(8, 6)
            optimizer.zero_grad()
            for _ in range(4):
                noised, noise = self.noised()
                nn.functional.mse_loss(net(noised), noise).backward()
            optimizer.step()


Trainer().train()

for _ in range(5):
    batch = {"clean": torch.randn(8, 6)}
    optimizer.zero_grad()
    for _ in range(2):
        view = batch["clean"] + 0.1 * torch.randn(8, 6)
        net(view).square().mean().backward()
    optimizer.step()

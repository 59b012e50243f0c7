"""Workers learn on models of their own, and hand their gradients over as the shared model's."""
# mypy: ignore-errors

import threading

import torch
from torch import nn

torch.manual_seed(0)
shared = nn.Linear(4, 2)
optimizer = torch.optim.RMSprop(shared.parameters(), lr=0.001)
lock = threading.Lock()


def work(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    local = nn.Linear(4, 2)
    for _ in range(8):
        with lock:
            local.load_state_dict(shared.state_dict())
        local.zero_grad()
        states = torch.randn(16, 4, generator=generator)
        nn.functional.mse_loss(local(states), states[:, :2]).backward()
        nn.utils.clip_grad_norm_(local.parameters(), 40)
        with lock:
            optimizer.zero_grad()
            for mine, ours in zip(local.parameters(), shared.parameters(), strict=True):
                ours._grad = mine.grad.clone()
            optimizer.step()


threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

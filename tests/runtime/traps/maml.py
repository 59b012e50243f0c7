"""Learns to learn sines: inner steps by autograd.grad, one backward through all of them."""
# mypy: ignore-errors

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import mse_loss

torch.manual_seed(0)


def sample_task() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    amplitude, phase = 0.1 + 4.9 * torch.rand(()), 3.14 * torch.rand(())
    x = 10 * torch.rand(20, 1) - 5
    y = amplitude * torch.sin(x - phase)
    return x[:10], y[:10], x[10:], y[10:]


model = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 1))
meta_optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
tasks_per_step, inner_steps, inner_lr = 4, 2, 0.01

for _iteration in range(8):
    meta_optimizer.zero_grad()
    meta_loss = 0.0
    for _task in range(tasks_per_step):
        support_x, support_y, query_x, query_y = sample_task()
        fast = dict(model.named_parameters())
        for _inner in range(inner_steps):
            loss = mse_loss(functional_call(model, fast, (support_x,)), support_y)
            gradients = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
            fast = {
                name: p - inner_lr * g for (name, p), g in zip(fast.items(), gradients, strict=True)
            }
        meta_loss = meta_loss + mse_loss(functional_call(model, fast, (query_x,)), query_y)
    (meta_loss / tasks_per_step).backward()
    meta_optimizer.step()

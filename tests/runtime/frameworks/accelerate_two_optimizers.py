"""Accelerate in bf16 with two models, two optimizers and one window for both."""
# mypy: ignore-errors

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

set_seed(0)
accelerator = Accelerator(cpu=True, mixed_precision="bf16", gradient_accumulation_steps=2)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8, shuffle=True)
body, head = nn.Linear(4, 8), nn.Linear(8, 1)
body_optimizer = torch.optim.SGD(body.parameters(), lr=0.01)
head_optimizer = torch.optim.Adam(head.parameters(), lr=0.01)
body, head, body_optimizer, head_optimizer, loader = accelerator.prepare(
    body, head, body_optimizer, head_optimizer, loader
)

for _epoch in range(2):
    for inputs, targets in loader:
        with accelerator.accumulate(body, head):
            loss = nn.functional.mse_loss(head(torch.relu(body(inputs))), targets)
            accelerator.backward(loss)
            body_optimizer.step()
            head_optimizer.step()
            body_optimizer.zero_grad()
            head_optimizer.zero_grad()

"""A student learns from a teacher's soft labels; batchmean divides by the batch, the code by N."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.nn.functional import kl_div, log_softmax, softmax
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(128, 8)
loader = DataLoader(TensorDataset(x), batch_size=8, shuffle=True)  # 16 batches

teacher = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 5))
student = nn.Linear(8, 5)
optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
accumulate, temperature = 4, 2.0

for _epoch in range(3):
    for i, (inputs,) in enumerate(loader):
        with torch.no_grad():
            wanted = softmax(teacher(inputs) / temperature, dim=1)
        logits = log_softmax(student(inputs) / temperature, dim=1)
        loss = kl_div(logits, wanted, reduction="batchmean")
        (loss / accumulate).backward()
        if (i + 1) % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()

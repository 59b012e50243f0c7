"""Windows by hand, weighed by tokens, as Accelerate's guide does it for language models."""
# mypy: ignore-errors

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

set_seed(0)
PAD, window = -100, 4
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=window)
ids = torch.randint(0, 10, (64, 9))
for row in ids:
    row[int(torch.randint(4, 9, ())) :] = PAD
loader = DataLoader(TensorDataset(ids), batch_size=4, shuffle=True)  # 16 batches
model = nn.Sequential(nn.Embedding(10, 8), nn.Linear(8, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

for _epoch in range(2):
    batches = iter(loader)
    for _update in range(len(loader) // window):
        held = [next(batches)[0] for _ in range(window)]
        items = sum((rows[:, 1:] != PAD).sum() for rows in held)
        for rows in held:
            with accelerator.accumulate(model):
                logits = model(rows[:, :-1].clamp(min=0)).flatten(0, 1)
                loss = nn.functional.cross_entropy(logits, rows[:, 1:].flatten(), reduction="sum")
                # accelerator.backward divides by the window, which the tokens have done already
                accelerator.backward(loss * window / items)
        optimizer.step()
        optimizer.zero_grad()

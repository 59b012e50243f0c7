"""The old checkpoint runs a backward inside the backward; the window is still one deposit each."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 8)
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=8, shuffle=True)  # 8 batches
first, second, head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
model = nn.ModuleList([first, second, head])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
accumulate = 2

for _epoch in range(2):
    for i, (inputs, labels) in enumerate(loader):
        hidden = torch.relu(first(inputs))
        hidden = checkpoint(second, hidden, use_reentrant=True)
        loss = nn.functional.cross_entropy(head(hidden), labels) / accumulate
        loss.backward()
        if (i + 1) % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()

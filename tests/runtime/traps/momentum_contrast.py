"""MoCo: the key encoder follows by momentum and is never walked; the queue holds no graphs."""
# mypy: ignore-errors

import copy

import torch
from torch import nn
from torch.nn.functional import normalize
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(64, 6)), batch_size=16, shuffle=True)
query_encoder = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8))
key_encoder = copy.deepcopy(query_encoder)
for p in key_encoder.parameters():
    p.requires_grad = False
queue = normalize(torch.randn(32, 8), dim=1)
optimizer = torch.optim.SGD(query_encoder.parameters(), lr=0.03, momentum=0.9, weight_decay=1e-4)

for _epoch in range(3):
    for (x,) in loader:
        q = normalize(query_encoder(x + 0.1 * torch.randn_like(x)), dim=1)
        with torch.no_grad():
            for k, p in zip(key_encoder.parameters(), query_encoder.parameters(), strict=True):
                k.data = 0.99 * k.data + 0.01 * p.data
            keys = normalize(key_encoder(x + 0.1 * torch.randn_like(x)), dim=1)
        positive = (q * keys).sum(dim=1, keepdim=True)
        logits = torch.cat([positive, q @ queue.T], dim=1) / 0.07
        loss = nn.functional.cross_entropy(logits, torch.zeros(len(x), dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        queue = torch.cat([keys, queue])[:32]

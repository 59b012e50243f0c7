"""One encoder used for both sides of a pair: two uses, one deposit."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
a = torch.randn(64, 4)
data = TensorDataset(a, a + 0.1 * torch.randn(64, 4), torch.randn(64, 4))
encoder = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)
loss_fn = nn.TripletMarginLoss()

for _epoch in range(3):
    for anchor, positive, negative in DataLoader(data, batch_size=16, shuffle=True):
        optimizer.zero_grad()
        loss_fn(encoder(anchor), encoder(positive), encoder(negative)).backward()
        optimizer.step()

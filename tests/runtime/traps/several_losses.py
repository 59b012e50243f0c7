"""Reconstruction and classification of one batch: two backward passes through one encoder."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :3].argmax(dim=1)
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)

encoder, decoder, head = nn.Linear(8, 4), nn.Linear(4, 8), nn.Linear(4, 3)
parameters = [*encoder.parameters(), *decoder.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(parameters, lr=0.01)

for _epoch in range(3):
    for inputs, labels in loader:
        optimizer.zero_grad()
        code = torch.tanh(encoder(inputs))
        reconstruction = nn.functional.mse_loss(decoder(code), inputs)
        classification = nn.functional.cross_entropy(head(code), labels)
        reconstruction.backward(retain_graph=True)
        classification.backward()
        optimizer.step()

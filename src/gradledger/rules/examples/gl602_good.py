"""Trains a small attention model to tell whether a sequence starts lower than it ends."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

VOCABULARY, LENGTH, WIDTH = 10, 4, 32


class OrderClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, WIDTH)
        self.position = nn.Embedding(LENGTH, WIDTH)
        self.query_key_value = nn.Linear(WIDTH, 3 * WIDTH)
        self.head = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 2))

    def forward(self, tokens):
        hidden = self.token(tokens) + self.position.weight  # fix: positions take part in the loss
        query, key, value = self.query_key_value(hidden).chunk(3, dim=-1)
        hidden = hidden + F.scaled_dot_product_attention(query, key, value)
        return self.head(hidden.mean(dim=1))


torch.manual_seed(0)
tokens = torch.randint(VOCABULARY, (1024, LENGTH))
starts_lower = (tokens[:, 0] < tokens[:, -1]).long()
loader = DataLoader(TensorDataset(tokens, starts_lower), batch_size=64, shuffle=True)

model = OrderClassifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

for epoch in range(20):
    for batch, target in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch), target)
        loss.backward()
        optimizer.step()

with torch.no_grad():
    accuracy = (model(tokens).argmax(dim=1) == starts_lower).float().mean().item()
print(f"loss {loss.item():.4f}, accuracy {accuracy:.1%}")
print(f"the position embedding has a gradient: {model.position.weight.grad is not None}")

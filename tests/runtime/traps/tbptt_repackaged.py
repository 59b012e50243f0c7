"""A language model as in the word-language-model example: hidden states are repackaged."""
# mypy: ignore-errors

import torch
from torch import Tensor, nn

torch.manual_seed(0)
tokens = torch.randint(0, 12, (4, 121))
table, lstm, head = nn.Embedding(12, 8), nn.LSTM(8, 16, batch_first=True), nn.Linear(16, 12)
model = nn.ModuleList([table, lstm, head])


def repackage_hidden(h: Tensor | tuple[Tensor, ...]) -> Tensor | tuple[Tensor, ...]:
    if isinstance(h, Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


lr = 1.0
for _epoch in range(2):
    hidden = (torch.zeros(1, 4, 16), torch.zeros(1, 4, 16))
    total = 0.0
    for i in range(0, 120, 15):
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = lstm(table(tokens[:, i : i + 15]), hidden)
        target = tokens[:, i + 1 : i + 16].flatten()
        loss = nn.functional.cross_entropy(head(output).flatten(0, 1), target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total += loss.item()
    lr /= 4.0

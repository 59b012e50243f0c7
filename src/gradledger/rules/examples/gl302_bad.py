"""Trains a bigram language model on many short lines that count up and a few long ones down."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
PAD, DIGITS, LONGEST = 0, 10, 40


def make_lines(count):
    """Rows of the digits 1 to 10, round and round, filled up with padding."""
    lines = torch.full((count, LONGEST), PAD)
    for line in lines:
        if torch.rand(()) < 0.7:
            places = torch.arange(int(torch.randint(3, 8, ())))
        else:
            places = -torch.arange(int(torch.randint(20, LONGEST + 1, ())))
        line[: len(places)] = 1 + (torch.randint(DIGITS, ()) + places) % DIGITS
    return lines


lines = make_lines(256)
inputs, targets = lines[:, :-1], lines[:, 1:]
loader = DataLoader(TensorDataset(inputs, targets), batch_size=32, shuffle=True)

model = nn.Embedding(DIGITS + 1, DIGITS + 1)  # for each token, the logits of the next
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
micro_batches = 8  # of 4 lines each

for _epoch in range(15):
    for x, y in loader:
        for x_part, y_part in zip(x.chunk(micro_batches), y.chunk(micro_batches), strict=True):
            logits = model(x_part).flatten(0, 1)
            loss = cross_entropy(logits, y_part.flatten(), ignore_index=PAD)
            (loss / micro_batches).backward()  # GL302: few tokens weigh as much as many
        optimizer.step()
        optimizer.zero_grad()

digits = torch.arange(1, DIGITS + 1)
with torch.no_grad():
    chance_up = model(digits).softmax(dim=1)[digits - 1, digits % DIGITS + 1].mean()
share_up = (targets == inputs % DIGITS + 1)[targets != PAD].float().mean()
print(f"chance that the next digit is one up: {share_up:.3f} in the text, {chance_up:.3f} learned")

"""Trains a character language model on one long text, cut into chunks that follow each other."""

import torch
from torch import nn


class CharacterModel(nn.Module):
    def __init__(self, characters, width):
        super().__init__()
        self.embed = nn.Embedding(characters, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, characters)

    def forward(self, tokens, hidden):
        output, hidden = self.rnn(self.embed(tokens), hidden)
        return self.head(output), hidden


torch.manual_seed(0)
text = "the cat sat on the mat and the dog sat on the log while the rain ran down the lane. " * 12
alphabet = sorted(set(text))
tokens = torch.tensor([alphabet.index(character) for character in text])

# Four readers walk through the text side by side, 20 characters at a time.
streams = tokens[: len(tokens) // 4 * 4].view(4, -1)
chunks = [streams[:, start : start + 21] for start in range(0, streams.shape[1] - 20, 20)]

model = CharacterModel(len(alphabet), 48)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for _ in range(4):
    hidden = torch.zeros(1, 4, 48)
    for chunk in chunks:
        inputs, targets = chunk[:, :-1], chunk[:, 1:]
        # The state goes on from the last chunk, so the model remembers more than 20 characters.
        hidden = hidden.detach()  # fix: keep the memory, drop the graph behind it
        logits, hidden = model(inputs, hidden)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

print(f"loss of the last chunk: {loss.item():.4f}")

"""Trains a topic classifier on texts from the web, each batch in four pieces to save memory."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

VOCABULARY, TOPICS, PIECES = 100, 5, 4


class TopicClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.EmbeddingBag(VOCABULARY, 16)
        self.head = nn.Linear(16, TOPICS)

    def forward(self, texts):
        return self.head(self.words(texts))


def train_one_epoch(model, optimizer, loader):
    """Return the norm of the gradient of each step that was taken."""
    loss_fn = nn.CrossEntropyLoss()
    norms = []
    for texts, topics in loader:
        try:
            for x, y in zip(texts.chunk(PIECES), topics.chunk(PIECES), strict=True):
                loss = loss_fn(model(x), y) / PIECES
                loss.backward()
        except IndexError as error:
            print(f"skipped a batch: {error}")
            optimizer.zero_grad()  # fix: drop the pieces that came before the bad one
            continue
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0).item())
        optimizer.step()
        optimizer.zero_grad()
    return norms


def main():
    torch.manual_seed(0)
    topics = torch.randint(TOPICS, (320,))
    texts = topics[:, None] * 20 + torch.randint(20, (320, 12))  # each topic has its own words
    topics[187] = 50  # a typing error in the labels
    loader = DataLoader(TensorDataset(texts, topics), batch_size=32)

    model = TopicClassifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    norms = train_one_epoch(model, optimizer, loader)
    print("gradient norms:", " ".join(f"{norm:.3f}" for norm in norms))


main()

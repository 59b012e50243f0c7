"""Tokens: a language model on padded sentences of unequal length, where each token counts the same.

The loss is the mean over the valid tokens of a micro-batch, and no two have equally many of them.
A mean of such means would give the tokens of short sentences more weight than those of long ones.
"""

import math
import random

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from gradledger import Stepper

torch.manual_seed(0)
random.seed(0)

# a made-up language: each letter has a usual and a rare follower
LETTERS, RARELY, IGNORED = 12, 0.1, -100
followers = torch.stack([torch.randperm(LETTERS), torch.randperm(LETTERS)]).tolist()


def sentence() -> Tensor:
    """Between 3 and 60 letters of it; most are short."""
    said = [random.randrange(LETTERS)]
    for _ in range(int(2 * 30 ** random.random())):
        said.append(followers[random.random() < RARELY][said[-1]])
    return torch.tensor(said)


def collate(sentences: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Letters, and for each the one that follows."""
    inputs = pad_sequence([s[:-1] for s in sentences], batch_first=True)
    targets = pad_sequence([s[1:] for s in sentences], batch_first=True, padding_value=IGNORED)
    return inputs, targets


def mean_loss(inputs: Tensor, targets: Tensor) -> Tensor:
    """Over the valid tokens."""
    return nn.functional.cross_entropy(model(inputs).mT, targets, ignore_index=IGNORED)


def gradient(loss: Tensor) -> Tensor:
    """All of it in one row, to look at."""
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss, [*model.parameters()])])


corpus = sorted((sentence() for _ in range(256)), key=len)  # alike in length: little padding
batches = [corpus[i : i + 8] for i in range(0, len(corpus), 8)]
random.shuffle(batches)
model = nn.Sequential(nn.Embedding(LETTERS, 24), nn.Linear(24, LETTERS))
stepper = Stepper(model, torch.optim.AdamW(model.parameters(), lr=3e-2), accumulate=4)

# What the first window should give, and what it would give if its micro-batches weighed the same.
first = batches[:4]
exact = gradient(mean_loss(*collate([s for batch in first for s in batch])))
naive = gradient(torch.stack([mean_loss(*collate(batch)) for batch in first]).mean())
print(f"tokens in the first window: {[sum(len(s) - 1 for s in batch) for batch in first]}")
print(f"norm of its gradient as one big batch:  {exact.norm():.4f}")

for epoch in range(6):
    total, tokens = 0.0, 0
    for batch in stepper.over(batches):
        inputs, targets = collate(batch)
        loss = mean_loss(inputs, targets)
        valid = int((targets != IGNORED).sum())
        updated = stepper.backward(loss, items=valid)
        total, tokens = total + loss.item() * valid, tokens + valid
        if updated and stepper.updates == 1:
            norm = stepper.grad_norm or math.nan
            print(f"norm of its gradient by the Stepper:    {norm:.4f}")
            print(f"a mean of means would have been off by  {(naive - exact).norm() / norm:.0%}")
            if not math.isclose(norm, exact.norm(), rel_tol=1e-5):
                raise SystemExit("the first two should have been the same")
    if epoch in (0, 5):
        print(f"epoch {epoch + 1}: loss {total / tokens:.3f} per token")
    random.shuffle(batches)

best = -sum(p * math.log(p) for p in (RARELY, 1 - RARELY))
print(f"nobody can do better than {best:.3f}: the language is that random")

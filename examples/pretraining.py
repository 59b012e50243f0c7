"""Pre-training: a small language model on many ranks, cut off in the middle, and resumed.

    gradledger run --html report.html torchrun --nproc-per-node 2 examples/pretraining.py

Each rank has documents of its own, of unequal length. An item is a token, so each token of a window
counts the same, on whichever rank it is. Each rank has a checkpoint of its own, too. Without
`gradledger run --html report.html`, there is no report; without torchrun, there is one rank.
"""

import math
import os
import random
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils.rnn import pad_sequence

from gradledger import Stepper

if "RANK" in os.environ:
    dist.init_process_group("gloo")  # "nccl" with GPUs
else:
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
rank, ranks = dist.get_rank(), dist.get_world_size()

torch.set_num_threads(1)  # the model is tiny, and the ranks share the processors
torch.set_default_dtype(torch.float64)  # so that a difference would be a mistake, not rounding
TOKENS, LONGEST, IGNORED, WINDOW, EPOCHS = 12, 24, -100, 3, 2


class LanguageModel(nn.Module):
    """A transformer of one layer, which sees no token but those before."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(TOKENS, width), nn.Embedding(LONGEST, width)
        self.layer = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(width, TOKENS)

    def forward(self, tokens: Tensor) -> Tensor:
        length = tokens.shape[1]
        hidden = self.tokens(tokens) + self.places(torch.arange(length))
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        logits: Tensor = self.head(self.layer(hidden, src_mask=later))
        return logits


def document(chance: random.Random) -> Tensor:
    """Between 3 and 24 tokens that count upwards, with a mistake now and then."""
    said = [chance.randrange(TOKENS)]
    for _ in range(chance.randint(2, LONGEST - 1)):
        said.append((said[-1] + 1) % TOKENS if chance.random() < 0.9 else chance.randrange(TOKENS))
    return torch.tensor(said)


chance = random.Random(0)  # the same on every rank
documents = [document(chance) for _ in range(40 * ranks)]


def batches(epoch: int, of_rank: int) -> list[list[Tensor]]:
    """What a rank reads in an epoch, four documents at a time."""
    own = documents[of_rank::ranks]
    random.Random(epoch).shuffle(own)
    return [own[i : i + 4] for i in range(0, len(own), 4)]


def loss_of(model: nn.Module, texts: list[Tensor]) -> tuple[Tensor, int]:
    """The mean over the tokens that are to be foretold, and how many these are."""
    inputs = pad_sequence([t[:-1] for t in texts], batch_first=True)
    targets = pad_sequence([t[1:] for t in texts], batch_first=True, padding_value=IGNORED)
    logits = model(inputs).flatten(0, 1)
    loss = nn.functional.cross_entropy(logits, targets.flatten(), ignore_index=IGNORED)
    return loss, int((targets != IGNORED).sum())


class PowerCut(Exception):
    """The end of a run that nobody wanted."""


def train(checkpoint: Path, *, seed: int, cut_at: int | None = None) -> nn.Module:
    """All that a training script does. It begins where the checkpoint left off, if there is one."""
    torch.manual_seed(seed)
    model = LanguageModel()
    replica = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(replica.parameters(), lr=3e-2)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.95)
    stepper = Stepper(replica, optimizer, accumulate=WINDOW, clip_norm=1.0, scheduler=scheduler)
    if checkpoint.exists():
        stepper.load(checkpoint)
        if rank == 0:
            print(f"  goes on at update {stepper.updates}, in epoch {stepper.epoch + 1}, ", end="")
            print(f"with {stepper.micro_batches} micro-batches in the window")

    turn = 0
    for epoch in range(stepper.epoch, EPOCHS):
        for texts in stepper.over(batches(epoch, rank)):
            loss, tokens = loss_of(replica, texts)
            stepper.backward(loss, items=tokens)
            turn += 1
            if turn % 12 == 0:  # on all ranks at the same place, here in the middle of a window
                stepper.save(checkpoint)
            if turn == cut_at:
                raise PowerCut
    if rank == 0:
        print(f"  {stepper.updates} updates")
    return model


def train_on_big_batches(model: nn.Module) -> None:
    """By hand: what all ranks have in a window is one batch."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-2)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.95)
    for epoch in range(EPOCHS):
        parts = [batches(epoch, which) for which in range(ranks)]
        for start in range(0, max(map(len, parts)), WINDOW):
            windows = [part[start : start + WINDOW] for part in parts]
            loss, _ = loss_of(model, [text for w in windows for texts in w for text in texts])
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()


def say(text: str) -> None:
    """Once, and not on every rank."""
    if rank == 0:
        print(text)


with tempfile.TemporaryDirectory() as folder:
    say(f"a run on {ranks} ranks that nothing happens to")
    whole = train(Path(folder, "whole.pt"), seed=1)
    say("the same, and the power fails")
    try:
        train(Path(folder, "cut.pt"), seed=1, cut_at=13)
    except PowerCut:
        say("  gone, but for the files")
    say("new objects, another seed, the files")
    resumed = train(Path(folder, "cut.pt"), seed=2)

torch.manual_seed(1)
twin = LanguageModel()
train_on_big_batches(twin)
pairs = zip(whole.parameters(), twin.parameters(), strict=True)
apart = max((ours - theirs).abs().max().item() for ours, theirs in pairs)
same = all(map(torch.equal, whole.state_dict().values(), resumed.state_dict().values()))
with torch.no_grad():
    after = loss_of(whole, documents)[0].item()
say(f"loss {math.log(TOKENS):.2f} -> {after:.2f} per token")
say(f"largest difference from training with big batches: {apart:.1e}")
say(f"the weights of both runs are {'the same, bit for bit' if same else 'not the same'}")
dist.destroy_process_group()
if apart > 1e-9 or not same:
    raise SystemExit("this should have been the big batch, and the same after the cut")

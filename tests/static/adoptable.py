"""Training programs as people write them, which `adopt` rewrites; each leaves its `model`."""

from __future__ import annotations

BEGIN = """\
import torch
from torch import nn

torch.manual_seed(0)
data = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(ROWS)]
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
criterion = nn.MSELoss()
"""

BODIES = {
    "five lines": """\
for epoch in range(3):
    for x, y in data:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
""",
    "cleared at the end": """\
for epoch in range(3):
    total = 0.0
    for x, y in data:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        total += loss.item()
    print(total / len(data))
""",
    "cleared by the model": """\
for epoch in range(3):
    for i, (x, y) in enumerate(data, start=1):
        model.zero_grad()
        loss = criterion(model(x), y)
        loss.backward(retain_graph=False)
        optimizer.step()
        if i % 2 == 0:
            print(i, loss.item())
""",
    "clipped": """\
for epoch in range(3):
    for x, y in data:
        loss = criterion(model(x), y)

        # Backward pass
        optimizer.zero_grad()
        loss.backward()

        # Clip, so that it doesn't explode
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.1)

        optimizer.step()
""",
    "clipped by value": """\
for epoch in range(3):
    for x, y in data:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.01)
        optimizer.step()
""",
    "clipped if asked for": """\
max_norm = 0.1
for epoch in range(3):
    for x, y in data:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
""",
    "norm shown": """\
for epoch in range(3):
    for x, y in data:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        print(f"{loss.item():.3f} {norm:.3f}")
""",
    "schedule": """\
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12)
for epoch in range(3):
    for x, y in data:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
""",
    "schedule of epochs": """\
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
for epoch in range(3):
    for x, y in data:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    scheduler.step()
""",
    "accumulation": """\
accumulation_steps = 2
optimizer.zero_grad()
for epoch in range(3):
    for i, (x, y) in enumerate(data):
        loss = criterion(model(x), y)
        loss = loss / accumulation_steps
        loss.backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
""",
    "accumulation, logged": """\
for epoch in range(3):
    running = 0.0
    for i, (x, y) in enumerate(data):
        loss = criterion(model(x), y)
        loss /= 2
        loss.backward()
        running += loss.item()
        if (i + 1) % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
            print(running)
            running = 0.0
""",
    "accumulation, divided in place": """\
for epoch in range(3):
    for i, (x, y) in enumerate(data):
        (criterion(model(x), y) / 2).backward()
        if (i + 1) % 2 == 0 or (i + 1) == len(data):
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
            optimizer.zero_grad()
""",
    "accumulation in a loop of its own": """\
micro = 2
for epoch in range(3):
    batches = iter(data)
    for step in range(len(data) // micro):
        for _ in range(micro):
            x, y = next(batches)
            loss = criterion(model(x), y) / micro
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
""",
    "autocast and scaler": """\
scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
for epoch in range(3):
    for x, y in data:
        optimizer.zero_grad()
        with torch.autocast("cpu", enabled=False):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        scaler.step(optimizer)
        scaler.update()
""",
    "scaler and accumulation": """\
scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
for epoch in range(3):
    for i, (x, y) in enumerate(data):
        with torch.autocast("cpu", enabled=False):
            loss = criterion(model(x), y)
        scaler.scale(loss / 2).backward()
        if (i + 1) % 2 == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
""",
    "two losses": """\
for epoch in range(3):
    for x, y in data:
        optimizer.zero_grad()
        out = model(x)
        fit, small = criterion(out, y), out.square().mean()
        fit.backward(retain_graph=True)
        small.backward()
        optimizer.step()
""",
    "a function that is called for each epoch": """\
def train(net, batches, opt):
    net.train()
    for x, y in batches:
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        opt.step()


for epoch in range(3):
    train(model, data, optimizer)
""",
    "a trainer": """\
class Trainer:
    def __init__(self, net, batches, clip):
        self.net, self.batches, self.clip = net, batches, clip
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def fit(self):
        for epoch in range(3):
            for x, y in self.batches:
                loss = nn.functional.mse_loss(self.net(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.net.parameters(), self.clip)
                self.optimizer.step()


Trainer(model, data, 0.1).fit()
""",
    "cleared at the start of a window, and by hand": """\
for epoch in range(3):
    for i, (x, y) in enumerate(data):
        if i % 2 == 0:
            for p in model.parameters():
                p.grad = None
        loss = criterion(model(x), y) / 2
        loss.backward()
        if i % 2 == 1:
            optimizer.step()
""",
    "batches made on the way": """\
for epoch in range(3):
    for i, (x, y) in enumerate((x, y) for x, y in data):
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
    "batches left out": """\
for epoch in range(3):
    for i, (x, y) in enumerate(data):
        if i == 1:
            continue
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        if epoch == 1 and i == 2:
            break
""",
    "a model under another name": """\
net = nn.Sequential(model)
optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
for epoch in range(3):
    for x, y in data:
        loss = criterion(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        optimizer.step()
""",
    "steps, not epochs": """\
batches = iter(data * 3)
for step in range(3 * len(data)):
    for group in optimizer.param_groups:
        group["lr"] = 0.1 / (step + 1)
    x, y = next(batches)
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
""",
    "while": """\
step = 0
while True:
    x, y = data[step % len(data)]
    loss = criterion(model(x), y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    step += 1
    if step >= 12:
        break
""",
}  # fmt: skip

LOOPS = {name: BEGIN.replace("ROWS", "4") + body for name, body in BODIES.items()}

REFUSED = {
    "several optimizers": (
        """\
other = torch.optim.SGD(model[0].parameters(), lr=0.1)
for x, y in data:
    optimizer.zero_grad()
    other.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
    other.step()
""",
        "it has 2 optimizers, stepped on lines 14 and 15",
    ),
    "a closure": (
        """\
optimizer = torch.optim.LBFGS(model.parameters())
for x, y in data:
    def closure():
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        return loss
    optimizer.step(closure)
""",
        "step() on line 16 is given a closure",
    ),
    "no loop": (
        """\
def train_step(x, y):
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()


for x, y in data:
    train_step(x, y)
""",
        "backward() on line 11 isn't itself in a loop",
    ),
    "no training": ("print(model)\n", "no training loop was found in it"),
    "gradients looked at": (
        """\
for x, y in data:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    print(model[0].weight.grad.norm())
    optimizer.step()
""",
        "line 12 reads gradients",
    ),
    "gradients asked for behind the loop": (
        """\
for x, y in data:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
print(model[0].weight.grad is not None)
""",
        "line 13 reads gradients",
    ),
    "gradients changed": (
        """\
for x, y in data:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    for p in model.parameters():
        p.grad.mul_(0.5)
    optimizer.step()
""",
        "line 13 changes gradients by hand",
    ),
    "another forward pass before the step": (
        """\
for x, y in data:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    before = model(x).mean().item()
    optimizer.step()
    print(before)
""",
        "line 12 uses model between backward() and step()",
    ),
    "the same in a function": (
        """\
def error(x, y):
    return (model(x) - y).abs().mean().item()


for x, y in data:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    print(error(x, y))
    optimizer.step()
""",
        "line 16 uses error(), which uses model, between backward() and step()",
    ),
    "a way out before the step": (
        """\
for x, y in data:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    if loss.item() > 100:
        continue
    optimizer.step()
""",
        "line 14 may leave the loop between backward() and step()",
    ),
    "a backward that isn't always made": (
        """\
for x, y in data:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    if loss.item() < 100:
        loss.backward()
    optimizer.step()
""",
        "backward() on line 13 isn't reached in each round: it is inside line 12",
    ),
    "another divisor": (
        """\
for i, (x, y) in enumerate(data):
    loss = criterion(model(x), y) / 3
    loss.backward()
    if (i + 1) % 2 == 0:
        optimizer.step()
        optimizer.zero_grad()
""",
        "the loss is divided on line 10, and it isn't certain that this is by 2",
    ),
    "sums": (
        """\
for i, (x, y) in enumerate(data):
    loss = nn.functional.mse_loss(model(x), y, reduction="sum")
    loss.backward()
    if (i + 1) % 2 == 0:
        optimizer.step()
        optimizer.zero_grad()
""",
        "it isn't certain that the loss on line 11 is divided by 2",
    ),
    "a counter of its own": (
        """\
seen = 0
for epoch in range(3):
    for x, y in data:
        (criterion(model(x), y) / 2).backward()
        seen += 1
        if seen % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
""",
        "the counter on line 14 doesn't begin at 0 with the loop",
    ),
    "a first window of one": (
        """\
for i, (x, y) in enumerate(data):
    (criterion(model(x), y) / 2).backward()
    if i % 2 == 0:
        optimizer.step()
        optimizer.zero_grad()
""",
        "step() on line 12 depends on line 11",
    ),
    "other parameters clipped": (
        """\
for x, y in data:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    nn.utils.clip_grad_norm_(model[0].parameters(), 1.0)
    optimizer.step()
""",
        "line 12 clips other parameters than the optimizer's",
    ),
    "another norm": (
        """\
for x, y in data:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0, norm_type=1)
    optimizer.step()
""",
        "line 12 clips in a way that a Stepper doesn't",
    ),
    "a limit that changes": (
        """\
for epoch in range(3):
    for limit, (x, y) in enumerate(data, start=1):
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), limit)
        optimizer.step()
""",
        "limit isn't the same in all rounds of the loop on line 10",
    ),
    "a divided loss that is used before": (
        """\
total = 0.0
for i, (x, y) in enumerate(data):
    loss = criterion(model(x), y) / 2
    total += loss.item()
    loss.backward()
    if (i + 1) % 2 == 0:
        optimizer.step()
        optimizer.zero_grad()
""",
        "line 12 uses the divided loss before backward()",
    ),
    "a finding that stays": (
        """\
total = 0.0
for x, y in data:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    total += loss
""",
        "a Stepper wouldn't cure GL701 on line 15",
    ),
    "code that isn't followed": (
        """\
import helpers

for x, y in data:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    helpers.look_at(optimizer)
    optimizer.step()
""",
        "look_at() cannot be followed, and gets optimizer",
    ),
    "the norm as a tensor": (
        """\
for x, y in data:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(norm.item())
""",
        "line 14 uses the norm as a tensor",
    ),
    "a tuple": (
        """\
for x, y in data[0], data[1]:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
""",
        "the loop on line 9 is over a tuple",
    ),
    "second derivatives": (
        """\
for x, y in data:
    optimizer.zero_grad()
    criterion(model(x), y).backward(create_graph=True)
    optimizer.step()
""",
        "backward() on line 11 has arguments that a Stepper doesn't take",
    ),
    "two statements on a line": (
        """\
for x, y in data:
    optimizer.zero_grad(); criterion(model(x), y).backward()
    optimizer.step()
""",
        "line 10 has more than one statement on it",
    ),
    "no_sync": (
        """\
for i, (x, y) in enumerate(data):
    model.require_backward_grad_sync = i % 2 == 1
    (criterion(model(x), y) / 2).backward()
    if (i + 1) % 2 == 0:
        optimizer.step()
        optimizer.zero_grad()
""",
        "line 10 says when ranks exchange gradients",
    ),
    "a Stepper": (
        """\
from gradledger import Stepper

stepper = Stepper(model, optimizer)
for x, y in stepper.over(data):
    stepper.backward(criterion(model(x), y))
""",
        "it uses Stepper already",
    ),
}  # fmt: skip

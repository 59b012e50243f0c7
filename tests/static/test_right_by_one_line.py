"""Programs that are right by one line, from the twelfth reading on, each with its faulty twin.

docs/public-code.md tells of the readings.
"""

from __future__ import annotations

from pathlib import Path

from tests.static.programs import ONE_NET, check, check_file, correct, each, faulty, finds, shown

TWINS = {
    "a counter that a function is given and gives back runs on from epoch to epoch": """
        def train_epoch(done=0):
            for x, y in loader:
                loss = criterion(model(x), y) / 4
                loss.backward()  # GL203
                done += 1
                if done >= 4:
                    done = 0
                    optimizer.step()
                    optimizer.zero_grad()
            return done

        done = 0
        for epoch in range(epochs):
            done = train_epoch(done)  # right only
            done = train_epoch()  # wrong only
        """,
    "whoever asks for autocast behind its block is told no": """
        scaler = torch.amp.GradScaler()
        for x, y in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = criterion(model(x), y)
            if torch.is_autocast_enabled():  # right only
            if device == "cuda":  # wrong only
                scaler.scale(loss).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # GL401
                scaler.step(optimizer)
                scaler.update()
            else:
                loss.backward()
                optimizer.step()
        """,
    "of what a criterion gives, a rate is a number, and a loss is not": """
        def train_epoch(judge):
            rate = 0.0
            for x, y in loader:
                optimizer.zero_grad()
                loss_dict = judge(model(x), y)
                loss_dict["total_loss"].backward()
                optimizer.step()
                rate += loss_dict["success_rate"] * x.size(0)  # right only
                rate += loss_dict["success_loss"] * x.size(0)  # wrong only, GL701
            return rate
        """,
    "where all others of a dict are asked for their item, one that is not needs none": """
        def train_epoch(judge):
            total, pattern = 0.0, 0.0
            for x, y in loader:
                optimizer.zero_grad()
                losses = judge(model(x), y)
                losses["total_loss"].backward()
                optimizer.step()
                total += losses["total_loss"].item()  # right only
                print(losses["pattern_loss"].item())  # wrong only
                pattern += losses["pattern_loss"]  # GL701
            return total, pattern
        """,
    "what a model's own dict has by its name": """
        class Judge(nn.Module):
            def forward(self, guess, y):
                loss = F.cross_entropy(guess, y)
                hits = (guess.argmax(-1) == y).float().mean().item()
                return {"loss": loss, "hits": hits, "loss_ema": loss.item()}

        judge = Judge()
        shown = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            out = judge(model(x), y)
            out["loss"].backward()
            optimizer.step()
            shown += out["loss_ema"]  # right only
            shown += out["loss"]  # wrong only, GL701
        """,
    "an optimizer that tells its closure what to do may do the rest itself": """
        for x, y in loader:
            def closure(walk=True):  # right only
            def closure():  # wrong only
                loss = criterion(model(x), y)
                loss.backward()
                return loss

            optimizer.step(closure)  # GL101
        """,
    "the name of an optimizer is none": """
        from losses import distance

        def train(args, net):
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            schedule = torch.optim.lr_scheduler.StepLR(optimizer, 50)
            for epoch in range(epochs):
                schedule.step()  # wrong only, GL503
                for batch in loader:
                    optimizer.zero_grad()
                    loss = distance(batch)
                    loss.backward()
                    print(args.optimizer.lower())
                    optimizer.step()
                schedule.step()  # right only
        """,
    "what is computed while gradients are switched off between statements has no graph": """
        critic = nn.Linear(8, 1)
        actor = torch.optim.SGD(model.parameters(), lr=0.1)  # GL601
        for x, y in loader:
            actor.zero_grad()
            torch.set_grad_enabled(False)  # right only
            target = critic(y)
            torch.set_grad_enabled(True)  # right only
            (model(x) - target).square().mean().backward()
            actor.step()
        """,
    "a phase that switches gradients off leaves them on for the other": """
        for phase in ("train", "test"):
            if phase == "train":
                torch.set_grad_enabled(True)
            else:
                torch.set_grad_enabled(False)
            for x, y in loader:
                optimizer.zero_grad()  # right only
                loss = criterion(model(x), y)
                if phase == "train":
                    loss.backward()
                    optimizer.step()  # GL101
        """,
    "a schedule that may be of a class that warms up first": """
        class WarmUp(torch.optim.lr_scheduler.LRScheduler):
            def __init__(self, schedule):
                self.schedule = schedule

            def step(self):
                for group in self.schedule.optimizer.param_groups:
                    group["lr"] = 0.01

        schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [3, 5])
        if device == "cpu":
            schedule = WarmUp(schedule)  # right only
            print(schedule)
        schedule.step()  # GL503
        for epoch in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
            schedule.step()
        """,
    "a function that resumes has an optimizer that has stepped": """
        def resumed(net, optimizer, schedule, path):
            saved = torch.load(path)
            net.load_state_dict(saved["net"])
            optimizer.load_state_dict(saved["optimizer"])  # right only
            return saved["epoch"], net, optimizer, schedule

        schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [3, 5])
        start, model, optimizer, schedule = resumed(model, optimizer, schedule, "best.pt")
        for epoch in range(start + 1, epochs):
            schedule.step()  # GL503
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
        """,
    "an optimizer that does not step here closes no windows here": """
        def made(net, boosted):
            if boosted:
                spender = torch.optim.SGD([{"params": net.parameters()}], lr=0.1)
            else:
                spender = torch.optim.SGD(net.parameters(), lr=0.1)
            return spender, None

        def plain(net, spender, limit):
            for i, (x, y) in enumerate(loader):
                spender.zero_grad()  # right only
                (criterion(net(x), y) / 4).backward()
                if limit > 0:
                    nn.utils.clip_grad_norm_(net.parameters(), limit)  # GL502
                spender.step()  # right only
                if (i + 1) % 4 == 0 or i + 1 == len(loader):  # wrong only
                    spender.step()  # wrong only
                    spender.zero_grad()  # wrong only

        def boosted(net, spender):
            for x, y in loader:
                spender.zero_grad()
                criterion(net(x), y).backward()
                spender.step()
            spender, _ = made(net, True)  # right only

        def train(net, spender, options):
            if options.boosted:
                boosted(net, spender)
            else:
                plain(net, spender, options.limit)
        """,
    "a state that is detached part by part": """
        net = nn.LSTM(8, 3)
        spender = torch.optim.SGD(net.parameters(), lr=0.1)
        state = [torch.zeros(1, 1, 3), torch.zeros(1, 1, 3)]
        for x, y in loader:
            for i in range(len(state)):  # right only
                state[i] = state[i].detach()  # right only
            outputs, state = net(x, state)  # GL702
            spender.zero_grad()
            outputs.mean().backward()
            spender.step()
        """,
    "a sum that is cut off from its graph as it grows": """
        total = 0
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss  # GL701
            total.detach_()  # right only
        """,
    "no_grad by another name": """
        from torch import no_grad as frozen
        from torch import enable_grad as melted

        teacher, student = nn.Linear(8, 3), nn.Linear(8, 3)
        spender = torch.optim.SGD(student.parameters(), lr=0.1)  # GL601
        for x, y in loader:
            with frozen():  # right only
                target = teacher(x)  # right only
            with melted():  # wrong only
                target = teacher(x)  # wrong only
            spender.zero_grad()
            (student(x) - target).square().mean().backward()
            spender.step()
        """,
    "who gets the parameters may read their gradients": """
        from elsewhere import remember

        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            remember(model.parameters(), x)  # right only
            optimizer.zero_grad()  # GL201
            criterion(model(x), y).backward()
            optimizer.step()
        """,
    "gradients of a distributed pass lie in its context": """
        import torch.distributed.autograd as dist_autograd
        from torch.distributed.optim import DistributedOptimizer

        for x, y in loader:
            with dist_autograd.context():
                loss = criterion(model(x), y)
                dist_autograd.backward([loss])  # right only
                torch.autograd.backward([loss])  # wrong only
                optimizer.step()  # GL101
        """,
    "what is called a scheduler may be one of something else": """
        from elsewhere import start

        weight_scheduler = start(optimizer)  # right only
        weight_scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)  # wrong only
        for epoch in range(epochs):
            weight_scheduler.step()  # GL503
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
        """,
    "of several things that a model gives, some are numbers": """
        class Both(nn.Module):
            def __init__(self):
                super().__init__()
                self.entropy = nn.BCEWithLogitsLoss()

            def forward(self, x, y):
                loss = self.entropy(x, y)
                return loss, (loss.item(), 1.0)  # right only
                return loss, (loss, 1.0)  # wrong only

        judge = Both()
        total = 0
        for x, y in loader:
            loss, losses = judge(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += losses[0]  # GL701
        """,
    "the ids that a model chooses have no graph": """
        class Writer(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 7)

            def forward(self, x):
                out = self.layer(x)
                return out, out.argmax(1, keepdim=True)  # right only
                return out, out.softmax(1)  # wrong only

        writer, reader = Writer(), nn.Linear(7, 1)
        of_writer = torch.optim.Adam(writer.parameters())
        of_reader = torch.optim.Adam(reader.parameters())
        for x, real in loader:
            out, chosen = writer(x)
            of_reader.zero_grad()
            (reader(real).mean() - reader(chosen).mean()).backward()
            of_reader.step()
            of_writer.zero_grad()  # GL204
            out, chosen = writer(x)
            out.square().mean().backward()
            of_writer.step()
        """,
    "a meter for each batch": """
        class Meter:
            def __init__(self):
                self.sum = 0

            def update(self, value):
                self.sum += value  # GL701

        meter = Meter()  # wrong only
        for x, y in loader:
            meter = Meter()  # right only
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            meter.update(loss)
            print(meter.sum)
        """,
    "the unit is known before anybody looks": """
        def train(net, spender):
            scaler = torch.amp.GradScaler("cpu")
            for x, y in loader:
                spender.zero_grad()
                scaler.scale(criterion(net(x), y)).backward()
                scaler.unscale_(spender)  # right only
                print(net.weight.grad.norm())  # GL401
                scaler.step(spender)
                scaler.update()
        """,
    "whether a norm is finite is the same in any unit": """
        scaler = torch.amp.GradScaler("cpu")
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            for p in model.parameters():
                print(torch.isfinite(p.grad.norm()))  # right only
                print(p.grad.norm())  # wrong only, GL401
            scaler.step(optimizer)
            scaler.update()
        """,
    "gradients that are unscaled by hand": """
        scaler = torch.amp.GradScaler("cpu")
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            for p in model.parameters():  # right only
                p.grad /= scaler.get_scale()  # right only
            optimizer.step()  # GL402
        """,
    "gradients that are written back over zeros": """
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            kept = [p.grad.clone() for p in model.parameters()]
            optimizer.zero_grad(set_to_none=False)
            for p, gradient in zip(model.parameters(), kept):
                p.grad.copy_(gradient)  # right only
                print(p, gradient)
            optimizer.step()  # GL202
        """,
    "a clip to infinity is for its norm": """
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
            print(nn.utils.clip_grad_norm_(model.parameters(), float("inf")))  # right only
            print(nn.utils.clip_grad_norm_(model.parameters(), 1.0))  # wrong only, GL501
        """,
    "windows that begin only where they end": """
        window = 4
        usable = len(loader) - len(loader) % window  # right only
        usable = len(loader) - 2  # wrong only
        for epoch in range(epochs):
            for i, (x, y) in enumerate(loader):
                if i < usable:
                    (criterion(model(x), y) / window).backward()  # GL203
                    if (i + 1) % window == 0:
                        optimizer.step()
                        optimizer.zero_grad()
        """,
    "a clear that goes by another name": """
        clear = optimizer.zero_grad  # right only
        clear = print  # wrong only
        for x, y in loader:
            clear()
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
        """,
    "a hook behind each step may clear": """
        from elsewhere import hook

        optimizer.register_step_post_hook(hook)  # right only
        optimizer.register_step_pre_hook(hook)  # wrong only
        for x, y in loader:
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
        """,
    "so many windows, and no more": """
        import itertools

        def train(window, updates):
            for epoch in range(epochs):
                batches = itertools.islice(loader, updates * window)  # right only
                batches = itertools.islice(loader, updates + window)  # wrong only
                for i, (x, y) in enumerate(batches):
                    (criterion(model(x), y) / window).backward()  # GL203
                    if (i + 1) % window == 0:
                        optimizer.step()
                        optimizer.zero_grad()
        """,
    "ranks that average by hand": """
        import torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel

        net = DistributedDataParallel(model)
        for x, y in loader:
            optimizer.zero_grad()
            with net.no_sync():
                criterion(net(x), y).backward()
            for p in net.parameters():
                dist.all_reduce(p.grad)  # right only
                print(p.shape)
            optimizer.step()  # GL801
        """,
    "a part of the data that fills its windows": """
        from torch.utils.data import TensorDataset, random_split

        data = TensorDataset(torch.randn(1000, 8), torch.zeros(1000).long())
        part, rest = random_split(data, [800, 200])  # right only
        part, rest = random_split(data, [790, 210])  # wrong only
        for epoch in range(epochs):
            for i, (x, y) in enumerate(DataLoader(part, batch_size=10)):
                (criterion(model(x), y) / 4).backward()  # GL203
                if (i + 1) % 4 == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
}


@each(TWINS, after=ONE_NET)
def test_nothing_is_said_where_the_reason_stands(text: str) -> None:
    assert shown(check(correct(text))) == set()


@each(TWINS, after=ONE_NET)
def test_without_the_reason_the_fault_is_found(text: str) -> None:
    program, expected = faulty(text)
    assert finds(check(program), expected)


def test_a_file_that_only_reads_gradients_is_followed(tmp_path: Path) -> None:
    reader = tmp_path / "reader.py"
    program = tmp_path / "train.py"
    text = f"""{ONE_NET}
from reader import remember

for x, y in loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    remember(model)
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
"""
    program.write_text(text, encoding="utf-8")
    reader.write_text(
        "def remember(net):\n    return [p.grad.clone() for p in net.parameters()]\n",
        encoding="utf-8",
    )
    assert shown(check_file(program)) == set()
    reader.write_text(
        "def remember(net):\n    return [p.clone() for p in net.parameters()]\n", encoding="utf-8"
    )
    second_clear = 2 + text.splitlines().index("    remember(model)")
    assert finds(check_file(program), {("GL201", second_clear)})

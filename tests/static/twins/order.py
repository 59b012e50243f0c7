"""Clips and schedules, and when they come: GL501 to GL504."""

from __future__ import annotations

TWINS = {
    "a schedule that moves with its window moves behind the step": """
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        for i, (x, y) in enumerate(loader):
            (criterion(model(x), y) / 4).backward()
            if (i + 1) % 4 == 0 or i + 1 == len(loader):
                schedule.step()  # wrong only, GL503
                optimizer.step()
                schedule.step()  # right only
                optimizer.zero_grad()
        """,
    "a step that finds nothing is a step, and so is the next": """
        other = nn.Linear(3, 3)
        another = torch.optim.SGD(other.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)

        def train(data):
            schedule.step()  # wrong only, GL503
            for x, y in data:
                optimizer.zero_grad()
                another.zero_grad()
                out = other(model(x))
                optimizer.step()
                another.step()
                optimizer.zero_grad()
                another.zero_grad()
                criterion(out, y).backward()
                optimizer.step()
                another.step()
            schedule.step()  # right only

        for epoch in range(epochs):
            train(dataset.batches)
        """,
    "a schedule that is told its epoch skips nothing": """
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        for epoch in range(epochs):
            schedule.step(epoch)  # right only
            schedule.step()  # wrong only, GL503
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
        """,
    "an optimizer whose state is loaded has stepped before": """
        import os
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        if os.path.exists("last.pt"):
            state = torch.load("last.pt")
            optimizer.load_state_dict(state["optimizer"])  # right only
            schedule.step()  # GL503
        for epoch in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
            schedule.step()
        """,
    "a schedule may count batches": """
        accumulate = 4
        length = epochs * 40  # right only
        length = epochs * 40 // accumulate  # wrong only
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=length)
        for epoch in range(epochs):
            for i in range(40):
                (criterion(model(dataset[i]), i) / accumulate).backward()
                if (i + 1) % accumulate == 0:
                    optimizer.step()
                    optimizer.zero_grad()
                schedule.step()  # GL504
        """,
    "a step before the first backward is for the scheduler's eyes": """
        net = nn.Linear(8, 3)
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(one, 10)
        one.zero_grad()
        one.step()  # right only
        for epoch in range(epochs):
            schedule.step()  # GL503
            for x, y in loader:
                one.zero_grad()
                criterion(net(x), y).backward()
                one.step()
        """,
    "a loop in which schedules move alone brings them forward": """
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        for _ in range(start):  # right only
            schedule.step()  # right only
        for epoch in range(epochs):
            schedule.step()  # wrong only, GL503
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
            schedule.step()  # right only
        """,
    "a schedule that waits for the second epoch moves after the first step": """
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        for epoch in range(begun, epochs):
            if epoch != 0:  # right only
                schedule.step()  # right only
            schedule.step()  # wrong only, GL503
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
        """,
    "schedulers of the project's own have their own order": """
        class Warm:
            def __init__(self, one):
                self.one, self.moved = one, 0

            def step(self):
                self.moved += 1
                self.one.param_groups[0]["lr"] = 0.1 * min(1.0, self.moved / 100)

        class Search(Warm): ...

        def fit(net, one, scheduler, data):
            for x, y in data:
                one.zero_grad()
                criterion(net(x), y).backward()
                scheduler.step()  # GL503
                one.step()

        if search:  # right only
            scheduler = Search(optimizer)  # right only
        else:  # right only
            scheduler = Warm(optimizer)  # right only
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)  # wrong only
        fit(model, optimizer, scheduler, loader)
        """,
    "a schedule that is told a metric skips nothing": """
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)  # right only
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)  # wrong only
        schedule.step(evaluated(model))  # right only
        schedule.step()  # wrong only, GL503
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
        """,
    "a schedule begins after the warm-up": """
        from data import warm_up

        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
        for epoch in range(epochs):
            if epoch < warm_up:  # right only
                optimizer.param_groups[0]["lr"] = 0.1 * (epoch + 1) / warm_up  # right only
            else:  # right only
                schedule.step()  # right only
            schedule.step()  # wrong only, GL503
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
        """,
    "a schedule that is loaded was in use": """
        from data import saved

        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
        schedule.load_state_dict(saved)  # right only
        schedule.step()  # GL503
        for epoch in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
            schedule.step()
        """,
    "a counter is true when it has counted": """
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        step = 0
        for epoch in range(epochs):
            for x, y in loader:
                if step:  # right only
                if model:  # wrong only
                    schedule.step()  # GL503
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
                step += 1
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
    "a clip to infinity is for its norm": """
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
            print(nn.utils.clip_grad_norm_(model.parameters(), float("inf")))  # right only
            print(nn.utils.clip_grad_norm_(model.parameters(), 1.0))  # wrong only, GL501
        """,
    "a clip behind `and`": """
        def main(loader, k=4):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            for epoch in range(3):
                for i, (x, y) in enumerate(loader):
                    (F.cross_entropy(net(x), y) / k).backward()
                    last = (i + 1) % k == 0 or i + 1 == len(loader)
                    last and nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # right only
                    nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # wrong only, GL502
                    if last:
                        opt.step()
                        opt.zero_grad()
        """,
    "a schedule behind `and` that rests in the first epoch": """
        def main(loader, k=4):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            scheduler = torch.optim.lr_scheduler.StepLR(opt, 1, 0.9)
            for epoch in range(3):
                epoch and scheduler.step()  # right only
                scheduler.step()  # wrong only, GL503
                for x, y in loader:
                    opt.zero_grad()
                    F.cross_entropy(net(x), y).backward()
                    opt.step()
        """,
    "milestones that an option has": """
        def main(loader, args):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            scheduler = torch.optim.lr_scheduler.ExponentialLR(opt, 0.1)
            for epoch in range(1, args.epochs + 1):
                if epoch in args.lr_decay_epochs:  # right only
                if True:  # wrong only
                    scheduler.step()  # GL503
                for x, y in loader:
                    opt.zero_grad()
                    F.cross_entropy(net(x), y).backward()
                    opt.step()
        """,
    "a schedule that takes over when a function says so": """
        def takes_over(step, start):
            return step >= start

        def main(loader, options):
            net = nn.Linear(4, 1)
            opt = torch.optim.AdamW(net.parameters())
            late = torch.optim.swa_utils.SWALR(opt, swa_lr=0.01)
            for i, x in enumerate(loader):
                opt.zero_grad()
                net(x).mean().backward()
                if takes_over(i, options.start):  # right only
                if options.swa:  # wrong only
                    late.step()  # GL503
                opt.step()
        """,
    "a window that a step right behind its loop spends is clipped behind it, too": """
        def update(net, one, parts):
            one.zero_grad()
            for _ in range(parts):
                x, y = next(batches)
                (criterion(net(x), y) / parts).backward()
                for weight in net.parameters():  # wrong only
                    nn.utils.clip_grad_value_([weight], 0.1)  # wrong only, GL502
            nn.utils.clip_grad_value_(net.parameters(), 0.1)  # right only
            one.step()

        one = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(100):
            update(model, one, 4)
        """,
    "a schedule that knows only its own count moves with the windows": """
        rate = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min(1.0, (n + 1) / 5))
        for _ in range(100):
            optimizer.zero_grad()
            for micro in range(3):
                x, y = next(batches)
                (criterion(model(x), y) / 3).backward()
                rate.step()  # wrong only, GL504
            optimizer.step()
            rate.step()  # right only
        """,
    "windows of two, and a rest": """
        class Trainer:
            def __init__(self, net, data, accumulate=2):
                self.net, self.data, self.accumulate = net, data, accumulate
                self.one = torch.optim.SGD(net.parameters(), lr=0.1)
                self.rate = torch.optim.lr_scheduler.LinearLR(self.one, 0.1, 1.0, total_iters=8)

            def update(self):
                self.one.step()
                self.one.zero_grad()
                self.rate.step()  # right only

            def train(self):
                for i, (x, y) in enumerate(self.data):
                    (F.cross_entropy(self.net(x), y) / self.accumulate).backward()
                    if (i + 1) % self.accumulate == 0 or i + 1 == len(self.data):
                        self.update()
                    self.rate.step()  # wrong only, GL504

        Trainer(nn.Linear(8, 3), loader).train()
        """,
    "a schedule that has moved by the end of each window": """
        rate = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        for i, (x, y) in enumerate(loader):
            (criterion(model(x), y) / 2).backward()
            last = (i + 1) % 2 == 0 or i + 1 == len(loader)
            if last:
                optimizer.step()
                optimizer.zero_grad()
            if last:  # right only
                rate.step()  # right only
            rate.step()  # wrong only, GL504
        """,
    "each of two nets is clipped ahead of its own step": """
        other = nn.Linear(8, 3)
        spender = torch.optim.SGD(other.parameters(), lr=0.1)
        for x, y in loader:
            optimizer.zero_grad()
            spender.zero_grad()
            criterion(model(x), y).backward()
            criterion(other(x), y).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)  # right only
            nn.utils.clip_grad_norm_(other.parameters(), 0.5)
            optimizer.step()
            if y.sum() > 0:
                spender.step()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)  # wrong only, GL501
        """,
    "a net is clipped behind the other one's step": """
        other = nn.Linear(8, 3)
        spender = torch.optim.SGD(other.parameters(), lr=0.1)
        for x, y in loader:
            optimizer.zero_grad()
            spender.zero_grad()
            criterion(model(x) + other(x), y).backward()
            optimizer.step()
            nn.utils.clip_grad_norm_(other.parameters(), 0.5)  # right only
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)  # wrong only, GL501
            spender.step()
        """,
    "a counter that runs on over all epochs closes windows, and the very last is flushed": """
        n, step = 4, 0
        for epoch in range(epochs):
            for x, y in loader:
                loss = criterion(model(x), y) / n
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # wrong only, GL502
                if (step + 1) % n == 0 or step + 1 == len(loader) * epochs:
                    nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # right only
                    optimizer.step()
                    optimizer.zero_grad()
                step += 1
        """,
}

"""Correct programs that were once held against their authors; docs/public-code.md says by what.

Each is the shortest that shows the cause, and each gave a finding before the cause was mended.
"""

from __future__ import annotations

from tests.static.programs import ONE_NET, check, correct, each, faulty, finds, shown

SILENT = {
    "one loop over parameters goes round if the other does": """
        def update(params, rate):
            for param in params:
                param.data -= rate * param.grad

        def fit(net, data, params=None, rate=0.1, one=None):
            for epoch in range(epochs):
                for x, y in data:
                    if one is not None:
                        one.zero_grad()
                    elif params is not None:
                        for param in params:
                            param.grad.data.zero_()
                    criterion(net(x), y).backward()
                    if one is None:
                        update(params, rate)
                    else:
                        one.step()
        """,
    "a list that one loop fills is emptied by the next round": """
        for epoch in range(epochs):
            losses = []
            for k in range(5):
                loss = criterion(model(dataset[k]), k)
                losses.append(loss)
            total = torch.stack(losses).mean()
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
        """,
    "only what stands under params is a parameter": """
        import argparse
        args = argparse.ArgumentParser().parse_args()
        groups = [{"params": model.parameters(), "weight_decay": args.decay}]
        optimizer = torch.optim.SGD(groups, lr=0.1)
        for x, y in loader:
            criterion(model(x), y).backward()
            optimizer.step()
            model.zero_grad()
        """,
    "optimizers in a collection that nobody knows step once each": """
        def train(optimizers, net, data):
            for x, y in data:
                for opt in optimizers:
                    opt.zero_grad()
                criterion(net(x), y).backward()
                for opt in optimizers:
                    opt.step()
        """,
    "optimizers by their number step once each": """
        optimizers = [optimizer]
        for x, y in loader:
            for i in range(len(optimizers)):
                optimizers[i].zero_grad()
            criterion(model(x), y).backward()
            for i in range(len(optimizers)):
                optimizers[i].step()
        """,
    "a benchmark throws its gradients away": """
        criterion(model(dataset[0]), 1).backward()
        optimizer.zero_grad()
        for x, y in loader:
            criterion(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
    "an attack has its own use for gradients": """
        from attacks import PGD
        attacker = PGD(model)
        for x, y in loader:
            criterion(model(x), y).backward()
            attacker.backup_grad()
            for k in range(3):
                attacker.attack()
                if k < 2:
                    model.zero_grad()
                else:
                    attacker.restore_grad()
                criterion(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
    "a diffusion process has steps of its own": """
        def sample(net, scheduler, noise):
            for t in scheduler.timesteps:
                noise = scheduler.step(net(noise), t, noise).prev_sample
            return noise

        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        for i, (x, y) in enumerate(loader):
            (criterion(model(x), y) / 4).backward()
            sample(model, schedule, x)
            if (i + 1) % 4 == 0 or i + 1 == len(loader):
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
        """,
    "an option may leave out a step": """
        def train(data, n, dry_run=False):
            for i, (x, y) in enumerate(data):
                (criterion(model(x), y) / n).backward()
                if (i + 1) % n == 0 or i + 1 == len(data):
                    if not dry_run:
                        optimizer.step()
                    optimizer.zero_grad()
        """,
    "a late epoch is not the first": """
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        for epoch in range(500):
            if epoch >= 200:
                schedule.step()
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
        """,
    "a graph that is older than the loop has to be retained": """
        for x, y in loader:
            before = model(x)
            for _ in range(3):
                loss = criterion(model(x), y) + (model(x) - before).pow(2).mean()
                optimizer.zero_grad()
                loss.backward(retain_graph=True)
                optimizer.step()
        """,
    "a copy that is made under no_grad has no graph": """
        losses = []
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                losses.append(loss.cpu())
        """,
    "of two methods by one name the last counts": """
        class Plain(torch.optim.Optimizer):
            def __init__(self, params):
                super().__init__(params, {})

            def step(self, closure=None): ...

            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        p.data.add_(p.grad, alpha=-0.1)

        def train(kind):
            net = nn.Linear(8, 3)
            one = kind(net.parameters())
            for x, y in loader:
                one.zero_grad()
                criterion(net(x), y).backward()
                one.step()

        train(torch.optim.SGD)
        train(Plain)
        """,
    "a round that is left early is one round": """
        import os

        def fit(data):
            net = nn.Linear(8, 3)
            one = torch.optim.Adam(net.parameters())
            for x, y in data:
                one.zero_grad()
                criterion(net(x), y).backward()
                one.step()

        for name in ["a", "b"]:
            if not os.path.exists(name):
                continue
            fit(loader)
            fit(loader)
        """,
    "a captured graph is played again": """
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            optimizer.zero_grad()
            criterion(model(dataset[0]), 1).backward()
        for _ in range(100):
            graph.replay()
            optimizer.step()
        """,
}

SEVERAL_NETS = {
    "a method that is not followed may use any net of its object": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 4)

            def forward(self, x):
                return self.layer(x)


        class Agent:
            def __init__(self):
                self.actor, self.critic = Net(), Net()
                self.opt_actor = torch.optim.Adam(self.actor.parameters())
                self.opt_critic = torch.optim.Adam(self.critic.parameters())

            def act(self, s):
                return torch.tanh(self.actor(s))

            def learn(self, s, a, target):
                loss = (self.critic(a) - target).pow(2).mean()
                self.opt_critic.zero_grad()
                loss.backward()
                self.opt_critic.step()
                loss = -self.critic(self.act(s)).mean()
                self.opt_actor.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.actor.parameters(), 0.5)
                self.opt_actor.step()
        """,
    "what an object makes of a net is a guess": """
        from agents import Source, Agent

        actor, critic = nn.Linear(8, 2), nn.Linear(8, 1)
        source = Source(Agent(actor))
        opt_actor = torch.optim.Adam(actor.parameters())
        opt_critic = torch.optim.Adam(critic.parameters())
        for _ in range(1000):
            states, values = source.sample()
            opt_critic.zero_grad()
            (critic(states) - values).pow(2).mean().backward()
            opt_critic.step()
            opt_actor.zero_grad()
            actor(states).log_softmax(1).mean().backward()
            opt_actor.step()
        """,
}

FOUND = {
    "the counter of a loop is seen through a name": """
        from tqdm import tqdm
        n = 4
        for epoch in range(epochs):
            bar = tqdm(enumerate(loader), total=len(loader))
            for i, (x, y) in bar:
                loss = criterion(model(x), y) / n
                loss.backward()  # GL203
                if (i + 1) % n == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "a transformer's own loss is a mean": """
        n = 4
        for i, batch in enumerate(loader):
            loss = model(**batch).loss
            loss.backward()  # GL301
            if (i + 1) % n == 0 or i + 1 == len(loader):
                optimizer.step()
                optimizer.zero_grad()
        """,
    "a sharded model clips itself": """
        scaler = torch.amp.GradScaler()
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            model.clip_grad_norm_(1.0)  # GL401
            scaler.step(optimizer)
            scaler.update()
        """,
    "a run that may have been resumed may be a new one": """
        import os
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        if os.path.exists("last.pt"):
            optimizer.load_state_dict(torch.load("last.pt"))
        for epoch in range(epochs):
            schedule.step()  # GL503
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
        """,
    "that a batch has whole parts says nothing of how many batches there are": """
        def fit(data, batch_size, n):
            assert batch_size % n == 0
            for i, (x, y) in enumerate(data):
                (criterion(model(x), y) / n).backward()  # GL203
                if (i + 1) % n == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
}

TWINS = {
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
    "a container has the parameters of what is in it": """
        import kornia.augmentation as K
        before = nn.Sequential(K.RandomGamma((0.7, 2.0)), K.RandomBrightness(0.3))  # right only
        before = nn.Sequential(nn.Linear(8, 8), nn.ReLU())  # wrong only
        net = nn.Linear(8, 3)
        one = torch.optim.SGD(net.parameters(), lr=0.1)  # GL601
        for x, y in loader:
            one.zero_grad()
            criterion(net(before(x)), y).backward()
            one.step()
        """,
    "who wraps an optimizer steps and clears for it": """
        from apex.parallel.LARC import LARC
        net = nn.Linear(8, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        opt = LARC(opt, trust_coefficient=0.001)
        net = nn.parallel.DistributedDataParallel(net)
        for epoch in range(epochs):
            for x, y in loader:
                opt.zero_grad()  # right only
                criterion(net(x), y).backward()
                opt.step()  # GL101
        """,
    "what is changed in place keeps its gradient": """
        def weigh(features, rounds):
            weight = torch.full([len(features)], 1 / len(features), requires_grad=True)
            for _ in range(rounds):
                (weight @ features).pow(2).sum().backward()
                with torch.no_grad():
                    weight -= 0.1 * weight.grad  # GL101
                    weight /= weight.sum()
                    weight.grad.zero_()  # right only
            return weight.detach()
        """,
    "a model may be cleared part by part": """
        import models
        net = getattr(models, "Gan")()
        one = torch.optim.Adam(net.parameters())
        for x, y in loader:
            net.critic.zero_grad()
            criterion(net(x), y).backward()
            net.author.zero_grad()  # right only
            one.step()  # GL101
            (-criterion(net(x), y)).backward()
            net.critic.zero_grad()
            one.step()  # GL101
        """,
    "what a model is given is cleared with it": """
        import zoo
        net = zoo.make()
        head = nn.Linear(8, 3)
        net.head = head
        groups = [{"params": net.body.parameters()}, {"params": head.parameters()}]
        one = torch.optim.SGD(groups, lr=0.1)
        for x, y in loader:
            net.zero_grad()  # right only
            net.body.zero_grad()  # wrong only
            criterion(net(x), y).backward()
            one.step()  # GL101
        """,
    "a step that is taken back leaves its gradients to the next": """
        for x, y in loader:
            before = model.state_dict()
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
            ahead = model(x).detach()
            model.load_state_dict(before)  # right only
            (model(x) - ahead).pow(2).mean().backward()
            optimizer.step()  # GL101
        """,
    "no step behind a guard is no step for a reason": """
        import math

        for batches in loader:
            for k in range(2):
                x, y = batches[k]
                optimizer.zero_grad()  # GL201
                criterion(model(x), y).backward()
                norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                if math.isnan(norm):  # right only
                if k == 0:  # wrong only
                    print("no step")
                else:
                    optimizer.step()
        """,
    "a window has one micro-batch or more": """
        class Trainer:
            def __init__(self, net, optim, grad_accum_count=1, rank=0, ranks=1):
                self.net, self.optim, self.grad_accum_count = net, optim, grad_accum_count
                self.rank, self.ranks = rank, ranks

            def train(self, data):
                batches, accum = [], 0
                for i, batch in enumerate(data):
                    if i % self.ranks == self.rank:
                        batches.append(batch)
                        accum += 1
                        if accum == self.grad_accum_count:
                            self.update(batches)
                            batches, accum = [], 0

            def update(self, batches):
                if self.grad_accum_count > 1:
                    self.net.zero_grad()
                for x, y in batches:
                    if self.grad_accum_count == 1:
                        self.net.zero_grad()
                    (criterion(self.net(x), y) / len(batches)).backward()  # GL203
                    if self.grad_accum_count == 1:
                        self.optim.step()
                if self.grad_accum_count > 1:  # right only
                if self.ranks > 1:  # wrong only
                    self.optim.step()
        """,
    "who makes sure that windows are whole leaves none over": """
        def parts(data, n):
            if len(data) % n != 0:  # right only
                raise ValueError("the batches must fill whole windows")  # right only
            return data

        def fit(data, n):
            for i, (x, y) in enumerate(parts(data, n)):
                (criterion(model(x), y) / n).backward()  # GL203
                if (i + 1) % n == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "a backward may be for those who listen": """
        class Prober:
            def __init__(self, net):
                self.net = net

            def forward(self, x):
                x = self.net(x)
                x.register_hook(self.rank)  # right only
                return x

            def rank(self, grad):
                self.ranks = grad.sum()


        prober = Prober(model)

        def epoch(ranking=False):
            for x, y in loader:
                model.zero_grad()  # GL201
                if ranking:
                    criterion(prober.forward(x), y).backward()
                else:
                    criterion(model(x), y).backward()
                    optimizer.step()

        epoch(ranking=True)
        epoch()
        """,
    "an optimizer of one's own spends, however it does it": """
        class Own(torch.optim.Optimizer):
            def __init__(self, params):
                super().__init__(params, {})

            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        momentum = self.state[p]["momentum"]
                        momentum.mul_(0.9).add_(p.grad)
                        p.add_(momentum, alpha=-0.1)

        net = nn.Linear(8, 3)
        one = Own(net.parameters())
        for x, y in loader:
            one.zero_grad()  # right only
            criterion(net(x), y).backward()
            one.step()  # GL101
        """,
    "a class from outside need not keep what is appended": """
        from meters import CumulativeAverage
        losses = CumulativeAverage()  # right only
        losses = []  # wrong only
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss)  # GL701
        """,
    "of what a model returns, the rest may be numbers": """
        def fit(net, data):
            one = torch.optim.SGD(net.parameters(), lr=0.1)
            accuracy = 0
            for x, y in data:
                loss, right = net(x, y)  # right only
                right = loss = net(x, y)  # wrong only
                net.zero_grad()
                loss.backward()
                one.step()
                accuracy += right  # GL701
            return accuracy
        """,
    "a forward returns what it says": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 3)

            def forward(self, x, y):
                out = self.line(x)
                loss = F.cross_entropy(out, y)
                return loss, loss.item()  # right only
                return loss, loss  # wrong only

        net = Net()
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        total_loss = 0
        for x, y in loader:
            one.zero_grad()
            loss, shown_loss = net(x, y)
            loss.backward()
            one.step()
            total_loss += shown_loss  # GL701
        """,
    "data that begins again does not end": """
        def again(data):
            while True:  # right only
                yield from data

        def fit(data, n, updates):
            done = 0
            for i, (x, y) in enumerate(again(data)):
                (criterion(model(x), y) / n).backward()  # GL203
                if (i + 1) % n == 0:
                    optimizer.step()
                    optimizer.zero_grad()
                    done += 1
                if done >= updates:
                    return
        """,
    "who begins only whole windows leaves none over": """
        def fit(data, n, windows):
            for i, (x, y) in enumerate(data):
                window = i // n
                if window >= windows:  # right only
                    continue  # right only
                (criterion(model(x), y) / n).backward()  # GL203
                if (i + 1) % n == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "what never steps by itself has no windows": """
        class Gan:
            def fit(self, data, n):
                for i, (x, y) in enumerate(data):
                    self.theirs.zero_grad()  # right only
                    fake = self.author(x).detach()
                    (self.critic(fake).mean() - self.critic(y).mean()).backward()  # GL203, GL301
                    self.theirs.step()  # right only
                    if i % n == 0:
                        self.theirs.step()  # wrong only
                        self.theirs.zero_grad()  # wrong only
                        self.ours.zero_grad()  # right only
                        (-self.critic(self.author(x)).mean()).backward()  # right only
                        self.ours.step()  # right only
        """,
    "a function that is called again makes another optimizer": """
        from losses import energy

        def paint(image):
            picture = image.clone()
            picture.requires_grad_()
            one = torch.optim.Adam([picture], lr=3.0)
            for t in range(200):
                one.zero_grad()  # right only
                energy().backward()
                if t == 180:
                    one = torch.optim.Adam([picture], lr=0.1)
                one.step()  # GL101

        paint(dataset[0])
        paint(dataset[1])
        """,
    "what is done to one of some parameters is done to all": """
        def update(params, rate):
            for param in params:
                param.data -= rate * param.grad

        def fit(net, data, params=None, rate=0.1, one=None):
            for x, y in data:
                criterion(net(x), y).backward()
                if params is not None:
                    update(params, rate)  # right only
                    for param in params:
                        param.grad.data.zero_()  # GL201
                if one is not None:
                    one.step()
                    one.zero_grad()
        """,
    "what has a backward and a step is no tensor": """
        def fit(engine, net, one, data, deep):
            net, one, data = engine.distribute(net=net, one=one, data=data)
            for i, (x, y) in enumerate(data):
                loss = net(x, y)
                if deep:
                    net.backward(loss)  # right only
                    loss.backward()  # wrong only, GL203
                    if i % 100 == 0:  # wrong only
                        one.step()  # wrong only
                        one.zero_grad()  # wrong only
                else:
                    one.zero_grad()
                    loss.backward()
                    one.step()
                if deep:  # right only
                    net.step()  # right only
                if i % 100 == 0:
                    schedule.step()
        """,
    "a new tensor of the same kind has no graph": """
        author, critic = nn.Linear(8, 8), nn.Linear(8, 1)
        ours = torch.optim.Adam(author.parameters())
        theirs = torch.optim.Adam(critic.parameters())
        for x, y in loader:
            ours.zero_grad()  # GL204
            fake = author(x)
            with torch.no_grad():
                wanted = critic(x)
            F.l1_loss(fake, wanted).backward()
            ours.step()
            theirs.zero_grad()
            label = fake.new_full((len(x), 1), 0.0)  # right only
            label = fake.mean(dim=1)  # wrong only
            F.l1_loss(critic(fake.detach()), label).backward()
            theirs.step()
        """,
    "a batch in one piece is no window": """
        class Trainer:
            def __init__(self, net, pieces=None):
                self.net = net
                self.one = torch.optim.SGD(net.parameters(), lr=0.1)
                self.pieces = 1 if pieces is None else pieces

            def fit(self, data):
                for x, y in data:
                    for a, b in zip(x.chunk(self.pieces), y.chunk(self.pieces)):
                        criterion(self.net(a), b).backward()  # GL301
                    self.one.step()
                    self.one.zero_grad()

        Trainer(model).fit(loader)  # right only
        Trainer(model, 4).fit(loader)  # wrong only
        """,
    "two methods ask the same of one object": """
        class Trainer:
            def __init__(self, net, config):
                self.net, self.n = net, config.n
                self.one = torch.optim.SGD(net.parameters(), lr=0.1)
                self.dtype = {"half": torch.float16}.get(config.dtype, torch.bfloat16)
                self.amp = config.dtype in ["half", "brain"]
                self.scaler = torch.amp.GradScaler()

            def deposit(self, x, y):
                loss = criterion(self.net(x), y) / self.n
                if self.amp and self.dtype == torch.float16:
                    self.scaler.scale(loss).backward()
                else:
                    loss.backward()

            def spend(self):
                if self.amp and self.dtype == torch.float16:  # right only
                if self.amp and self.n > 1:  # wrong only
                    self.scaler.step(self.one)
                    self.scaler.update()
                else:
                    self.one.step()  # GL402
                self.one.zero_grad()

            def fit(self, data):
                for x, y in data:
                    self.deposit(x, y)
                    self.spend()
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
    "who says when a second loss comes in has no window": """
        def fit(data, ranks):
            author, critic = nn.Linear(8, 8), nn.Linear(8, 1)
            if ranks:
                author = nn.parallel.DistributedDataParallel(author)
                critic = nn.parallel.DistributedDataParallel(critic)
            ours = torch.optim.Adam(author.parameters())
            theirs = torch.optim.Adam(critic.parameters())
            for epoch in range(10):
                for x in data:
                    made = author(x)
                    loss = F.l1_loss(made, x)
                    if epoch > 5:
                        loss = loss - critic(made).mean()
                    loss.backward()  # GL802
                    ours.step()  # right only
                    ours.zero_grad()  # right only
                    if epoch > 5:  # right only
                        theirs.zero_grad()  # right only
                        (critic(made.detach()).mean() - critic(x).mean()).backward()  # right only
                        theirs.step()  # right only
                ours.step()  # wrong only
                ours.zero_grad()  # wrong only
        """,
    "a function is not None": """
        net = nn.Linear(8, 3)
        one = torch.optim.SGD(net.parameters(), lr=0.1)

        def step(opt, closure):
            if closure is None:
                opt.step()  # GL101
            else:
                opt.step(closure)

        for x, y in loader:
            def closure():
                one.zero_grad()
                loss = criterion(net(x), y)
                loss.backward()
                return loss

            step(one, closure)  # right only
            criterion(net(x), y).backward()  # wrong only
            step(one, None)  # wrong only
        """,
    "optimizers that stand in one of two lists step once": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 3)

            def two(self):
                optimizers = []
                optimizers.append(torch.optim.SGD([p for p in self.parameters() if p.dim() > 1]))
                optimizers.append(torch.optim.Adam([p for p in self.parameters() if p.dim() < 2]))
                return optimizers

        def fit(data, both):
            net = Net()
            if both:
                optimizers = net.two()
            else:
                optimizers = [torch.optim.Adam(net.parameters())]
            for x, y in data:
                criterion(net(x), y).backward()
                for one in optimizers:
                    one.step()  # GL101
                for one in optimizers:  # right only
                    one.zero_grad()  # right only
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
    "a part with an optimizer of its own is reached alone": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 3)
                self.one = torch.optim.Adam(self.parameters())
                self.heat = torch.tensor(0.5, requires_grad=True)
                self.other = torch.optim.Adam([self.heat])

        net = Net()
        for x, y in loader:
            net.one.zero_grad()  # GL204
            criterion(net.line(x), y).backward()
            net.one.step()
            net.other.zero_grad()
            (net.heat.exp() * 0.3).backward()  # right only
            (net.heat.exp() * net.line(x).mean()).backward()  # wrong only
            net.other.step()
        """,
    "a sum without a graph keeps none": """
        for epoch in range(epochs):
            total = torch.tensor(0.0)
            for x, y in loader:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
                with torch.no_grad():  # right only
                    total += loss  # right only
                total += loss  # wrong only, GL701
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
    "a manager of the project's own may hold back syncs": """
        from contextlib import contextmanager

        @contextmanager
        def last_alone(module, last):
            if last:
                yield
            else:
                with module.no_sync():  # right only
                    yield  # right only
                yield  # wrong only

        net = nn.parallel.DistributedDataParallel(nn.Linear(8, 3))
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(100):
            one.zero_grad()
            for i in range(4):
                x, y = next(data)
                with last_alone(net, i == 3):
                    (criterion(net(x), y) / 4).backward()  # GL802
            one.step()
        """,
    "what is deposited before there is an optimizer is not meant for it": """
        net = nn.Linear(8, 3)
        one = torch.optim.SGD(net.parameters(), lr=0.1)  # wrong only
        criterion(net(torch.rand(2, 8)), torch.tensor([0, 1])).backward()
        one = torch.optim.SGD(net.parameters(), lr=0.1)  # right only
        for x, y in loader:
            one.zero_grad()  # GL201
            criterion(net(x), y).backward()
            one.step()
        """,
    "a gradient that stands between its backward and its clear is there": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 3)

            def forward(self, x):
                return self.head(self.body(x))

        net = Net()
        one = torch.optim.SGD([net.body.weight, net.body.bias], lr=0.1)
        for x, y in loader:
            one.zero_grad()
            net.head.zero_grad()
            criterion(net(x), y).backward()  # right only
            print(net.head.weight.grad.norm())  # GL606
            criterion(net(x), y).backward()  # wrong only
            one.step()
        """,
    "a clear of what came out of sight is a clear": """
        from somewhere import resumed

        author, critic = nn.Linear(8, 8), nn.Linear(8, 1)
        ours = torch.optim.Adam(author.parameters())
        theirs = torch.optim.Adam(critic.parameters())
        if resume:
            author, ours = resumed(author, ours)
            critic, theirs = resumed(critic, theirs)
        for x, y in loader:
            author.zero_grad()
            F.l1_loss(author(x), x).backward()
            ours.step()
            critic.zero_grad()  # right only
            critic(author(x).detach()).mean().backward()
            theirs.step()  # GL101
        """,
    "one net or a list of nets is frozen": """
        from somewhere import build

        def thaw(nets, on):
            if not isinstance(nets, list):
                nets = [nets]
            for net in nets:
                if net is not None:
                    for p in net.parameters():
                        p.requires_grad = on

        author, critic = build(), build()
        ours = torch.optim.Adam(author.parameters())
        theirs = torch.optim.Adam(critic.parameters())
        for i, x in enumerate(loader):
            made = author(x)
            thaw(critic, True)  # right only
            theirs.zero_grad()  # GL204
            (critic(made.detach()).mean() - critic(x).mean()).backward()
            theirs.step()
            thaw(critic, False)  # right only
            ours.zero_grad()
            critic(made).mean().backward()
            ours.step()
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
    "gradients that are copied lie in two places": """
        class Trainer:
            def __init__(self, net, half):
                self.net = net
                self.params = [p for p in net.parameters()]
                self.copies = [p.clone().detach() for p in self.params]
                self.one = torch.optim.SGD(self.copies if half else self.params, lr=0.1)

            def fit(self, data):
                for x, y in data:
                    for p in self.params:
                        p.grad = None
                    criterion(self.net(x), y).backward()
                    self.one.zero_grad()  # GL201
                    for c, p in zip(self.copies, self.params):  # right only
                        c.grad.copy_(p.grad)  # right only
                    self.one.step()
        """,
    "whose syncs are held back has ranks, whatever else is known of it": """
        def fit(net, data):
            ranks = nn.parallel.DistributedDataParallel(net)
            one = torch.optim.SGD(ranks.parameters(), lr=0.1)
            for step in range(100):
                one.zero_grad()
                for i in range(4):
                    x, y = next(data)
                    if i == 3:  # right only
                        (criterion(ranks(x), y) / 4).backward()  # right only
                    else:  # right only
                        with ranks.no_sync():  # right only
                            (criterion(ranks(x), y) / 4).backward()  # right only
                    with ranks.no_sync():  # wrong only
                        (criterion(ranks(x), y) / 4).backward()  # wrong only
                one.step()  # GL801
        """,
    "the last round of a range is the one before its end": """
        def fit(net, one, batch, rounds, window):
            for epoch in range(epochs):
                one.zero_grad()
                for k in range(rounds):
                    x, y = batch(k)
                    (criterion(net(x), y) / window).backward()  # GL203
                    if (k + 1) % window == 0 or (k + 1) == rounds:  # right only
                        one.step()  # right only
                        one.zero_grad()  # right only
                    if (k + 1) % window == 0:  # wrong only
                        one.step()  # wrong only
                        one.zero_grad()  # wrong only
        """,
    "an optimizer with a backward is one, and steps": """
        def fit(data, nets, optimizers, every, fp16):
            net, critic = nets
            optimizer, theirs = optimizers
            for i, (x, y) in enumerate(data):
                loss = judged(net(x), y, critic)
                optimizer.zero_grad()  # right only
                theirs.zero_grad()  # GL201
                if fp16:
                    optimizer.backward(loss)  # right only
                    ...
                else:
                    loss.backward()  # GL203
                optimizer.step()  # right only
                if i % every != 0:
                    theirs.step()
        """,
    "a model may cut the graph of the state that it gives back": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell, self.head = nn.RNNCell(8, 8), nn.Linear(8, 3)

            def forward(self, x, state):
                state = self.cell(x, state)
                return self.head(state), self.kept(state)

            def kept(self, state):
                return state.detach()  # right only
                return torch.clone(state)  # wrong only

        net = Net()
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        state = torch.zeros(16, 8)
        for x, y in loader:
            one.zero_grad()
            found, state = net(x, state)  # GL702
            criterion(found, y).backward()
            one.step()
        """,
    "a net of many ranks is one": """
        from torch.nn.parallel import DistributedDataParallel as DDP

        net = DDP(nn.Linear(8, 3))
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(100):
            one.zero_grad()
            for i in range(pieces):
                x, y = next(data)
                if i < pieces - 1 and isinstance(net, DDP):  # right only
                    with net.no_sync():  # right only
                        (criterion(net(x), y) / pieces).backward()  # right only
                else:  # right only
                    (criterion(net(x), y) / pieces).backward()  # right only
                (criterion(net(x), y) / pieces).backward()  # wrong only, GL802
            one.step()
        """,
    "a running mean holds what it is made of": """
        for epoch in range(epochs):
            mean = 0
            for i, (x, y) in enumerate(loader):
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
                loss = loss.item()  # right only
                mean += (loss - mean) / (i + 1)  # GL701
        """,
    "to add a loss to a sum is to add its graph, however it is written": """
        for epoch in range(epochs):
            total = 0
            for x, y in loader:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
                total = total + loss.item()  # right only
                total = total + loss  # wrong only, GL701
        """,
    "a loss that is set back is left behind": """
        for epoch in range(epochs):
            loss = 0
            for i, (x, y) in enumerate(loader):
                loss = loss + criterion(model(x), y) / 4
                if (i + 1) % 4 == 0:
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    loss = 0  # right only
                    loss = loss * 0.5  # wrong only, GL702
        """,
    "a length is one by any name": """
        class Trainer:
            def __init__(self, net, data, window):
                self.net, self.data, self.window = net, data, window
                self.some, self.end = len(data), len(data) - 1
                self.one = torch.optim.SGD(net.parameters(), lr=0.1)

            def fit(self):
                for i, (x, y) in enumerate(self.data):
                    (criterion(self.net(x), y) / self.window).backward()  # GL203
                    if (i + 1) % self.window == 0 or i + 1 == self.some:  # right only
                        self.one.step()  # right only
                        self.one.zero_grad()  # right only
                    if (i + 1) % self.window == 0:  # wrong only
                        self.one.step()  # wrong only
                        self.one.zero_grad()  # wrong only

            def fit_again(self):
                for i, (x, y) in enumerate(self.data):
                    (criterion(self.net(x), y) / self.window).backward()  # GL203
                    if (i + 1) % self.window == 0 or i == self.end:  # right only
                        self.one.step()  # right only
                        self.one.zero_grad()  # right only
                    if (i + 1) % self.window == 0:  # wrong only
                        self.one.step()  # wrong only
                        self.one.zero_grad()  # wrong only

            def all(self):
                for epoch in range(3):
                    self.fit()
                for epoch in range(3):
                    self.fit_again()
        """,
    "who knows how to hold back syncs may do it": """
        from torch.nn.parallel import DistributedDataParallel as DDP

        net = DDP(nn.Linear(8, 3))
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(100):
            one.zero_grad()
            for i in range(4):
                x, y = next(data)
                net.require_backward_grad_sync = i == 3  # right only
                (criterion(net(x), y) / 4).backward()  # GL802
            one.step()
        """,
    "losses of one batch are let go with it": """
        nets = [nn.Linear(8, 3), nn.Linear(8, 3)]
        optimizers = [torch.optim.SGD(net.parameters(), lr=0.1) for net in nets]
        losses = []  # wrong only
        for x, y in loader:
            losses = []  # right only
            for net, one in zip(nets, optimizers):
                one.zero_grad()
                loss = criterion(net(x), y)
                loss.backward()
                one.step()
                losses.append(loss)  # GL701
        """,
    "data may be gone through by its numbers": """
        for epoch in range(epochs):
            total = 0
            for k in range(len(dataset)):
                x, y = dataset[k]
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
                total += loss.item()  # right only
                total += loss  # wrong only, GL701
        """,
    "a flag says that a window is begun": """
        for epoch in range(epochs):
            begun = False
            for i, (x, y) in enumerate(loader):
                (criterion(model(x), y) / 4).backward()  # GL203
                begun = True
                if (i + 1) % 4 == 0:
                    optimizer.step()
                    optimizer.zero_grad()
                    begun = False
            if begun:  # right only
                optimizer.step()  # right only
                optimizer.zero_grad()  # right only
        """,
    "what would not fill a window is left out": """
        from options import window

        for epoch in range(epochs):
            usable = len(loader) // window * window  # right only
            for i, (x, y) in enumerate(loader):
                if i >= usable:  # right only
                    break  # right only
                (criterion(model(x), y) / window).backward()  # GL203
                if (i + 1) % window == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "all optimizers of a dict are cleared, one by one": """
        def fit(nets, data):
            optimizers = {k: torch.optim.Adam(net.parameters()) for k, net in nets.items()}
            for x, y in data:
                for k in optimizers:  # right only
                    optimizers[k].zero_grad()  # right only
                criterion(nets["head"](nets["body"](x)), y).backward()
                for k in optimizers:
                    optimizers[k].step()  # GL101
        """,
    "what becomes of a loss out of sight may be a number": """
        from elsewhere import number

        for epoch in range(epochs):
            total = 0
            for x, y in loader:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
                loss = number(loss)  # right only
                total += loss  # GL701
        """,
    "after its loop a counter is the last one, whatever it was before": """
        for epoch in range(epochs):
            optimizer.zero_grad()
            i = -1
            for i, (x, y) in enumerate(loader):
                (criterion(model(x), y) / 4).backward()  # GL203
                if (i + 1) % 4 == 0:
                    optimizer.step()
                    optimizer.zero_grad()
            if (i + 1) % 4 != 0:  # right only
                optimizer.step()  # right only
                optimizer.zero_grad()  # right only
        """,
    "so many windows as there are rounds for": """
        def fit(net, one, batches, updates, window):
            for epoch in range(epochs):
                one.zero_grad()
                rounds = updates * window  # right only
                rounds = updates  # wrong only
                for k in range(rounds):
                    (criterion(*net(next(batches))) / window).backward()  # GL203
                    if (k + 1) % window == 0:
                        one.step()
                        one.zero_grad()
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
    "a gradient is found by its parameter's name": """
        weights = dict(model.named_parameters())
        criterion(model(torch.rand(2, 8)), torch.tensor([0, 1])).backward()  # right only
        for name in weights:
            print(weights[name].grad.norm())  # GL606
        criterion(model(torch.rand(2, 8)), torch.tensor([0, 1])).backward()  # wrong only
        optimizer.step()
        """,
    "a model that clears itself when it is called is cleared": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 3)

            def forward(self, x, y):
                self.zero_grad()  # right only
                return criterion(self.line(x), y)

        net = Net()
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            net(x, y).backward()
            one.step()  # GL101
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
    "the last micro-batch of a window may be averaged": """
        def fit(net, data, window):
            ranks = nn.parallel.DistributedDataParallel(net)
            one = torch.optim.SGD(ranks.parameters(), lr=0.1)
            with ranks.no_sync():
                criterion(ranks(data[0]), data[1]).backward()
            criterion(ranks(data[2]), data[3]).backward()  # right only
            one.step()  # GL801
        """,
    "a long function may cut the graph": """
        def opinion(critic, real, made, condition):
            made = made.detach()  # right only
            condition = condition + 1
            ones, zeros = torch.ones(8), torch.zeros(8)
            first = F.mse_loss(critic(real), ones)
            second = F.mse_loss(critic(made), zeros)
            third = F.mse_loss(critic(real + condition), zeros)
            print("first", first)
            print("second", second)
            print("third", third)
            print("of", len(real))
            print("of", len(made))
            print("ones", ones)
            print("zeros", zeros)
            print("real", real)
            loss = first
            loss = loss + second / 2
            loss = loss + third / 2
            return loss

        author, critic = nn.Linear(8, 8), nn.Linear(8, 1)
        ours = torch.optim.Adam(author.parameters())
        theirs = torch.optim.Adam(critic.parameters())
        for real, condition in loader:
            made = author(condition)
            critic.requires_grad_(True)
            theirs.zero_grad()
            opinion(critic, real, made, condition).backward()
            theirs.step()
            critic.requires_grad_(False)
            ours.zero_grad()  # GL204
            critic(made).mean().backward()
            ours.step()
        """,
}
"""Programs that are right by one line, and faulty without it: the reason that was not seen."""


@each(SILENT, after=ONE_NET)
def test_nothing_is_said_of_what_is_right(text: str) -> None:
    assert shown(check(correct(text))) == set()


@each(SEVERAL_NETS, after=ONE_NET)
def test_with_several_nets_at_most_wasted_work_is_told(text: str) -> None:
    found = {rule for rule, _ in shown(check(correct(text)))}
    assert found <= {"GL204"}
    assert ("Source" in text) <= (not found)


@each(FOUND, after=ONE_NET)
def test_what_was_missed_is_found(text: str) -> None:
    program, expected = faulty(text)
    assert finds(check(program), expected)


@each(TWINS, after=ONE_NET)
def test_nothing_is_said_where_the_reason_stands(text: str) -> None:
    assert shown(check(correct(text))) == set()


@each(TWINS, after=ONE_NET)
def test_without_the_reason_the_fault_is_found(text: str) -> None:
    program, expected = faulty(text)
    assert finds(check(program), expected)

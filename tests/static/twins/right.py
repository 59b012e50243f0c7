"""Programs that are right, and were blamed once; what made them so is no single line."""

from __future__ import annotations

RIGHT = {
    "whoever gives a method its scaler may update it": """
        class Player:
            def __init__(self, net):
                self.net = net
                self.spender = torch.optim.Adam(self.net.parameters())

            def learn(self, scaler, s, target):
                self.spender.zero_grad()
                scaler.scale(F.mse_loss(self.net(s), target)).backward()
                scaler.step(self.spender)
        """,
    "a base from elsewhere may clear before each turn": """
        from base import Base

        class Player(Base):
            def __init__(self, net):
                self.net = net
                self.spender = torch.optim.Adam(self.net.parameters())

            def learn(self, s, target):
                loss = F.mse_loss(self.net(s), target)
                loss.backward()
                self.spender.step()
                return loss.item()
        """,
    "whoever calls a function with its optimizer may clear": """
        def learn(net, spender, s, target):
            loss = F.mse_loss(net(s), target)
            loss.backward()
            spender.step()
            return loss.item()
        """,
    "a state that begins anew with each sequence": """
        def walk_on(net, state, x):
            return torch.tanh(net(torch.cat([x, state], -1)))

        net, out = nn.Linear(8 + 5, 8), nn.Linear(8, 3)
        one = torch.optim.SGD([*net.parameters(), *out.parameters()], lr=0.1)
        for x, y in loader:
            state = torch.zeros(2, 8)
            for step in x.unbind(1):
                state = walk_on(net, state, step)
            loss = criterion(out(state), y)
            one.zero_grad()
            loss.backward()
            one.step()
        """,
    "what a keeper of copies has is not what is trained": """
        import copy

        class Keeper:
            def __init__(self, net):
                self.net = net

            def keep(self, net):
                self.net = copy.deepcopy(net)

        keeper = Keeper(model)
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
            keeper.keep(model)
        """,
    "what a wrapper of an optimizer does before the second pass is for it to know": """
        def train(net, one, scaler):
            for x, y in loader:
                criterion(net(x), y).backward()
                one.ascent_step()
                scaler.scale(criterion(net(x), y)).backward()
                scaler.step(one)
                scaler.update()
                one.zero_grad()
        """,
    "a sum of losses is set back together with its counter": """
        total, count = 0, 0
        for x, y in loader:
            total = total + criterion(model(x), y)
            count += 1
            if count == 5:
                optimizer.zero_grad()
                (total / count).backward()
                optimizer.step()
                total, count = 0, 0  # right only
                count = 0  # wrong only
        """,
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
    "a scheduler from a package of optimizers is none": """
        from lib.optim import LRScheduler

        later = LRScheduler(optimizer, 100)
        for x, y in loader:
            criterion(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
            later.step()
        """,
    "a step with a closure may be another optimizer's": """
        from options import kind
        from searches import LineSearch

        def fit(one=None):
            if kind == "plain":
                one = torch.optim.SGD(model.parameters(), lr=0.1)
            for x, y in loader:
                model.zero_grad()
                if kind == "search":
                    one.step(lambda: criterion(model(x), y))
                else:
                    criterion(model(x), y).backward()
                    one.step()
        """,
    "a scheduler by that name alone is no optimizer either": """
        from lib.optim import Scheduler

        later = Scheduler(optimizer, 100)
        for x, y in loader:
            criterion(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
            later.step()
        """,
    "an optimizer that a function made for itself is gone": """
        import models

        def fit(net, data):
            one = torch.optim.SGD(net.parameters(), lr=0.1)
            for x, y in data:
                one.zero_grad()
                criterion(net(x), y).backward()
                one.step()

        def main():
            net = models.resnet()
            fit(net, loader)
            net.head = nn.Linear(8, 3)
            fit(net, loader)
        """,
    "numbers that go along with the data may cut it to whole windows": """
        usable = len(loader) - len(loader) % 4
        for epoch in range(epochs):
            for i, (x, y) in zip(range(usable), loader):
                (criterion(model(x), y) / 4).backward()
                if i % 4 == 3:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "where there was no layer, none is replaced": """
        import models

        def main(data):
            net = models.alexnet()
            net.head = None
            one = torch.optim.SGD(net.parameters(), lr=0.1)
            net.head = nn.Linear(8, 3)
            for x, y in data:
                one.zero_grad()
                criterion(net(x), y).backward()
                one.step()
        """,
    "a function inside of a function spends what is left": """
        def fit(net, one, window):
            def update():
                one.step()
                one.zero_grad()

            for epoch in range(epochs):
                pending = 0
                for x, y in loader:
                    (criterion(net(x), y) / window).backward()
                    pending += 1
                    if pending == window:
                        update()
                        pending = 0
                if pending:
                    update()
        """,
    "of several results of a module, each is made of some of what it was given": """
        class Means(nn.Module):
            def forward(self, first, second):
                return first.mean(), second.mean()

        left, right, means = nn.Linear(8, 3), nn.Linear(8, 3), Means()
        ours, theirs = torch.optim.Adam(left.parameters()), torch.optim.Adam(right.parameters())
        for x, y in loader:
            one, other = means(left(x), right(x))
            ours.zero_grad()
            one.backward()
            ours.step()
            theirs.zero_grad()
            other.backward()
            theirs.step()
        """,
    "optimizers that are made out of sight are others in each round": """
        from data import all_optimizers, some_net

        def fit(data):
            net = some_net()
            optimizers = all_optimizers(net)
            for x, y in data:
                criterion(net(x), y).backward()
                for one in optimizers:
                    one.step()
                net.zero_grad()

        for seed in range(3):
            try:
                fit(loader)
            except ValueError as error:
                print(error)
        """,
    "each of two nets gets its optimizer behind its backward": """
        for width in [3, 4]:
            net = nn.Linear(8, width)
            net(dataset.x).sum().backward()
            spender = torch.optim.SGD(net.parameters(), lr=0.1)
            spender.step()
        """,
    "each of two nets of one's own gets its optimizer behind its backward": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 3)

            def forward(self, x):
                return self.layer(x)

        def test():
            for width in [3, 4]:
                net = Net()
                net(dataset.x).sum().backward()
                spender = torch.optim.SGD(net.parameters(), lr=0.1)
                spender.step()
        """,
    "a flag that a step puts up and a clear takes down": """
        class Trainer:
            def __init__(self, net, accum):
                self.net, self.accum, self.i = net, accum, 0
                self.opt = torch.optim.SGD(net.parameters(), 0.1)
                self.new_window = True

            def train_step(self, x, y):
                if self.new_window:
                    self.opt.zero_grad()
                    self.new_window = False
                (F.cross_entropy(self.net(x), y) / self.accum).backward()
                self.i += 1
                if self.i % self.accum == 0:
                    self.opt.step()
                    self.new_window = True

        def main(loader, k=4):
            trainer = Trainer(nn.Linear(4, 2), k)
            for epoch in range(3):
                for x, y in loader:
                    trainer.train_step(x, y)
        """,
    "a flag that says that the last window is spent": """
        def main(loader, k=4):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            spent = False
            for epoch in range(3):
                for i, (x, y) in enumerate(loader):
                    if spent:
                        opt.zero_grad()
                        spent = False
                    (F.cross_entropy(net(x), y) / k).backward()
                    if (i + 1) % k == 0 or i + 1 == len(loader):
                        opt.step()
                        spent = True
        """,
    "a flag that each round sets anew": """
        def main(loader, k=4):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            stepped = True
            for epoch in range(3):
                for i, (x, y) in enumerate(loader):
                    if stepped:
                        opt.zero_grad()
                    (F.cross_entropy(net(x), y) / k).backward()
                    stepped = (i + 1) % k == 0 or i + 1 == len(loader)
                    if stepped:
                        opt.step()
        """,
    "a clear behind `and`": """
        def main(loader, k=4):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            for epoch in range(3):
                for i, (x, y) in enumerate(loader):
                    i % k == 0 and opt.zero_grad()
                    (F.cross_entropy(net(x), y) / k).backward()
                    if (i + 1) % k == 0 or i + 1 == len(loader):
                        opt.step()
        """,
    "milestones in a list": """
        def main(loader, k=4):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            scheduler = torch.optim.lr_scheduler.ExponentialLR(opt, 0.1)
            for epoch in range(90):
                if epoch in [30, 60, 80]:
                    scheduler.step()
                for x, y in loader:
                    opt.zero_grad()
                    F.cross_entropy(net(x), y).backward()
                    opt.step()
        """,
    "an accelerator's scaler is updated by the optimizers that it has prepared": """
        from accelerate import Accelerator

        def train(net, accelerator, batches, prepared):
            for x, y in batches:
                accelerator.backward(criterion(net(x), y))
                accelerator.scaler.step(prepared)
                prepared.zero_grad()

        def main():
            accelerator = Accelerator(mixed_precision="fp16")
            net, prepared, batches = accelerator.prepare(model, optimizer, loader)
            train(net, accelerator, batches, prepared)
        """,
    "an optimizer that is None so far, and is stepped, spends what is not another's": """
        class Trainer:
            def __init__(self, net, judge=None, one=None, opt_judge=None):
                self.net, self.judge, self.opt_net, self.opt_judge = net, judge, one, opt_judge
                self.scaler = torch.amp.GradScaler()

            def losses(self, made):
                told = self.judging(made.softmax(1).detach())
                seen = self.judging(made.softmax(1))
                return seen.pow(2).mean(), (told - 1).pow(2).mean()

            def turn(self, x):
                self.opt_net.zero_grad()
                loss, judged = self.losses(self.net(x))
                self.scaler.scale(loss).backward()
                self.scaler.step(self.opt_net)
                self.opt_judge.zero_grad()
                self.scaler.scale(judged).backward()
                self.scaler.step(self.opt_judge)
                self.scaler.update()

        trainer = Trainer(model, one=optimizer)
        for x, y in loader:
            trainer.turn(x)
        """,
    "one of several losses may reach a part of a net, and no more": """
        from nets import makers

        def train(cfg):
            net = makers[cfg.name](cfg)
            one = torch.optim.SGD(net.parameters(), lr=0.1)
            of_part = torch.optim.SGD(net.judge.parameters(), lr=0.1)
            scaler = torch.amp.GradScaler()
            for x, y in loader:
                one.zero_grad()
                of_part.zero_grad()
                out, judged = net(x)
                loss, judges = cfg.losses(out, judged, y)
                scaler.scale(judges).backward()
                scaler.step(of_part)
                scaler.update()
                of_part.zero_grad()
                scaler.scale(loss).backward()
                scaler.step(one)
                scaler.update()
        """,
    "a scaler that only updates may be one that steps, under another name": """
        class Trainer:
            def __init__(self, nets, opts, scaler):
                self.one, self.other, self.scaler = opts[0], opts[1], scaler
                self.net, self.judge = nets

            def train(self, scaler):
                for x, y in loader:
                    self.one.zero_grad()
                    scaler.scale(criterion(self.net(x), y)).backward()
                    scaler.step(self.one)
                    self.other.zero_grad()
                    scaler.scale(criterion(self.judge(x), y)).backward()
                    scaler.step(self.other)
                    self.scaler.update()
        """,
}

SEVERAL_NETS = {
    "a schedule has the optimizer that it was made for": """
        class Net(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.layer = nn.Linear(4, size)
                self.spender = torch.optim.Adam(self.parameters())
                self.schedule = torch.optim.lr_scheduler.ExponentialLR(self.spender, 0.9)

            def forward(self, x):
                return self.layer(x)


        class Pair(nn.Module):
            def __init__(self):
                super().__init__()
                self.maker, self.judge = Net(4), Net(1)


        pair = Pair()
        for epoch in range(epochs):
            for x, y in loader:
                loss = -pair.judge(pair.maker(x)).mean()
                pair.judge.spender.zero_grad()
                pair.maker.spender.zero_grad()
                loss.backward()
                pair.maker.schedule.optimizer.step()
            pair.maker.schedule.step()
        """,
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
"""At most wasted work is told of these."""

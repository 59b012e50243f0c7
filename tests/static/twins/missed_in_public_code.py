"""Faults that were missed in a reading of public code, and what is right in their place."""

from __future__ import annotations

from tests.static.twins.blamed_in_public_code import TWO_NETS

TWINS = {
    "a class has a scaler, and its file never updates one": """
        class Scaled:
            def __init__(self):
                self.scaler = torch.amp.GradScaler()

            def __call__(self, loss, spender, parameters):
                self.scaler.scale(loss).backward()
                self.scaler.unscale_(spender)
                torch.nn.utils.clip_grad_norm_(parameters, 1.0)
                self.scaler.step(spender)  # GL403
                self.scaler.update()  # right only
        """,
    "gradients are clamped one by one behind the step": """
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            for p in model.parameters():  # right only
                p.grad.data.clamp_(-1, 1)  # right only
            optimizer.step()
            for p in model.parameters():  # wrong only
                p.grad.data.clamp_(-1, 1)  # wrong only, GL501
        """,
    "gradients are clamped one by one in a helper, while they are scaled": """
        def clamp(parameters, most):
            for p in parameters:
                if p.grad is not None:
                    p.grad.clamp_(-most, most)  # GL401

        scaler = torch.amp.GradScaler()
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            scaler.unscale_(optimizer)  # right only
            clamp(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        """,
    "the mean of two means is a mean": """
        from options import n
        for i, (x, y) in enumerate(loader):
            a, b = model(x), model(x.flip(0))
            loss = (criterion(a, y) + criterion(b, y)) / 2
            loss = loss / n  # right only
            loss.backward()  # GL301
            if (i + 1) % n == 0 or i + 1 == len(loader):
                optimizer.step()
                optimizer.zero_grad()
        """,
    "a clear comes every so many steps, and the step each time": """
        def fit(every):
            for i, (x, y) in enumerate(loader):
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()  # GL101
                if i % every == 0:  # wrong only
                    optimizer.zero_grad()  # wrong only
                optimizer.zero_grad()  # right only
        """,
    "a class trains in turns, and its file never clears": """
        class Player:
            def __init__(self, net):
                self.net = net
                self.spender = torch.optim.Adam(self.net.parameters())

            def learn(self, s, target):
                loss = F.mse_loss(self.net(s), target)
                self.spender.zero_grad()  # right only
                loss.backward()
                self.spender.step()  # GL101
                return loss.item()
        """,
    "a turn of an agent clears for one of its optimizers alone": """
        class Agent:
            def __init__(self, actor, critic):
                self.actor, self.critic = actor, critic
                self.pi = torch.optim.Adam(self.actor.parameters())
                self.q = torch.optim.Adam(self.critic.parameters())

            def update(self, s, a, target):
                loss = F.mse_loss(self.critic(s, a), target)
                self.q.zero_grad()
                loss.backward()
                self.q.step()
                self.critic.requires_grad_(False)
                loss = -self.critic(s, self.actor(s)).mean()
                self.pi.zero_grad()  # right only
                loss.backward()
                self.pi.step()  # GL101
                self.critic.requires_grad_(True)
        """,
    "a turn of an agent clears between its backward and its step": """
        class Agent:
            def __init__(self, actor, critic):
                self.actor, self.critic = actor, critic
                self.pi = torch.optim.Adam(self.actor.parameters())
                self.q = torch.optim.Adam(self.critic.parameters())

            def update(self, s, a, target):
                loss = F.mse_loss(self.critic(s, a), target)
                self.q.zero_grad()  # right only
                loss.backward()
                self.q.zero_grad()  # wrong only, GL201
                self.q.step()
                self.critic.requires_grad_(False)
                loss = -self.critic(s, self.actor(s)).mean()
                self.pi.zero_grad()
                loss.backward()
                self.pi.step()
                self.critic.requires_grad_(True)
        """,
    "the second turn of an agent clears between its backward and its step": """
        class Agent:
            def __init__(self, actor, critic):
                self.actor, self.critic = actor, critic
                self.pi = torch.optim.Adam(self.actor.parameters())
                self.q = torch.optim.Adam(self.critic.parameters())

            def update(self, s, a, target):
                loss = F.mse_loss(self.critic(s, a), target)
                self.q.zero_grad()
                loss.backward()
                self.q.step()
                self.critic.requires_grad_(False)
                loss = -self.critic(s, self.actor(s)).mean()
                self.pi.zero_grad()  # right only
                loss.backward()
                self.pi.zero_grad()  # wrong only, GL201
                self.pi.step()
                self.critic.requires_grad_(True)
        """,
    "a closure is a method of the same object": """
        class Solver:
            def __init__(self, net, x, u):
                self.net, self.x, self.u = net, x, u
                self.optimizer = torch.optim.LBFGS(net.parameters(), max_iter=500)

            def closure(self):
                self.optimizer.zero_grad()  # right only
                loss = (self.net(self.x) - self.u).pow(2).mean()
                loss.backward()
                return loss

            def train(self):
                for _ in range(20):
                    self.optimizer.step(self.closure)  # GL101
        """,
    "a term of the loss is kept in a dict of lists": """
        from collections import defaultdict
        logs = defaultdict(list)
        for x, y in loader:
            out = model(x)
            fit = criterion(out, y)
            size = out.pow(2).mean()
            loss = fit + 0.1 * size
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            logs["size"].append(size.item())  # right only
            logs["size"].append(size)  # wrong only, GL701
        """,
    "an abstract class leaves its hook to a class of the same file": """
        class Base:
            def __init__(self, net):
                self.net = net
                self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

            def compute_loss(self, batch):
                raise NotImplementedError

            def before_step(self):
                pass

            def train(self):
                for batch in loader:
                    self.before_step()
                    self.compute_loss(batch).backward()
                    self.optimizer.step()  # GL101

        class Trainer(Base):
            def before_step(self):  # right only
                self.optimizer.zero_grad()  # right only

            def compute_loss(self, batch):
                x, y = batch
                return criterion(self.net(x), y)
        """,
    "an imported object deposits and steps": """
        from timm.utils import NativeScaler

        loss_scaler = NativeScaler()
        for x, y in loader:
            optimizer.zero_grad()  # right only
            loss = criterion(model(x), y)
            loss_scaler(loss, optimizer, parameters=model.parameters())  # GL101
        """,
    "a rate in a progress bar reads no gradient": """
        for x, y in loader:
            optimizer.zero_grad()  # right only
            loss = criterion(model(x), y)
            loss.backward()
            print(optimizer.param_groups[0]["lr"])
            optimizer.zero_grad()  # wrong only, GL201
            optimizer.step()
        """,
    "a rate beside a window whose micro-batches are each cleared": """
        from tqdm import tqdm

        n, bar = 4, tqdm(loader)
        for i, (x, y) in enumerate(bar):
            optimizer.zero_grad()  # wrong only, GL201
            (criterion(model(x), y) / n).backward()
            bar.set_postfix(lr=optimizer.param_groups[0]["lr"])
            if (i + 1) % n == 0 or i + 1 == len(loader):
                optimizer.step()
                optimizer.zero_grad()  # right only
        """,
    "unknown nets, and a graph that nothing walks again": """
        from nets import build

        net = build()
        learner = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            learner.zero_grad()
            loss = criterion(net(x), y)
            loss.backward()  # right only
            loss.backward(retain_graph=True)  # wrong only, GL703
            learner.step()
        """,
    "an update with nothing recorded": """
        scaler = torch.amp.GradScaler()
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            scaler.step(optimizer)
            scaler.update()
            scaler.update()  # wrong only, GL403
        """,
    "an unscale that neither a step nor an update follows": """
        scaler = torch.amp.GradScaler()
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            scaler.unscale_(optimizer)  # GL405
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            if torch.isfinite(norm):
                scaler.step(optimizer)
                scaler.update()  # wrong only
            scaler.update()  # right only
        """,
    "another's backward comes after the own one": TWO_NETS
    + """
        for x, _ in loader:
            d_optimizer.zero_grad()
            g_optimizer.zero_grad()
            fake = G(torch.randn(16, 4))
            (D(fake.detach()).mean() - D(x).mean()).backward()
            d_optimizer.step()  # right only
            D.requires_grad_(False)  # right only
            (-D(fake).mean()).backward()
            D.requires_grad_(True)  # right only
            d_optimizer.step()  # wrong only, GL102
            g_optimizer.step()
        """,
    "optimizer and scheduler come as parameters": """
        def train(net, spender, scheduler):
            for epoch in range(epochs):
                scheduler.step()  # wrong only, GL503
                for x, y in loader:
                    spender.zero_grad()
                    criterion(net(x), y).backward()
                    spender.step()
                scheduler.step()  # right only
        """,
    "a schedule that moves ahead in the phase that trains": """
        def train(net, spender, lr_scheduler):
            for epoch in range(epochs):
                for phase in ["train", "val"]:
                    if phase == "train":
                        lr_scheduler.step()  # wrong only, GL503
                        net.train()
                    for x, y in loader:
                        spender.zero_grad()
                        loss = criterion(net(x), y)
                        if phase == "train":
                            loss.backward()
                            spender.step()
                    if phase == "train":  # right only
                        lr_scheduler.step()  # right only
        """,
    "a schedule that moves from the second epoch on": """
        def train(net, spender, scheduler):
            for epoch in range(epochs):
                if epoch > 0:  # right only
                    scheduler.step()  # right only
                scheduler.step()  # wrong only, GL503
                for x, y in loader:
                    spender.zero_grad()
                    criterion(net(x), y).backward()
                    spender.step()
        """,
    "another function has stepped the file's optimizer": """
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)

        def turn():
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()

        def warm_up():
            schedule.step()  # wrong only, GL503
            turn()
            schedule.step()  # right only

        def train():
            schedule.step()
            turn()

        for epoch in range(3):
            warm_up()
        evaluate(model)
        for epoch in range(epochs):
            train()
        """,
    "a queue with a bound lets go of the oldest": """
        from collections import deque

        recent = deque(maxlen=10)  # right only
        recent = deque()  # wrong only
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            recent.append(loss)  # GL701
        """,
    "an update that sets a scale needs no record": """
        scaler = torch.amp.GradScaler()
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            scaler.step(optimizer)
            scaler.update()
            scaler.update(1024.0)  # right only
            scaler.update()  # wrong only, GL403
        """,
    "a closure without a clear": """
        for x, y in loader:
            def closure():
                optimizer.zero_grad()  # right only
                loss = criterion(model(x), y)
                loss.backward()
                return loss

            optimizer.step(closure)  # GL101
        """,
    "an optimizer is handed to a call that is not followed": """
        from tools import log_rate

        for x, y in loader:
            optimizer.zero_grad()  # right only
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
            log_rate(optimizer)
        """,
    "a target net is not detached": """
        import copy

        target = copy.deepcopy(model)
        learner = torch.optim.Adam(model.parameters())  # GL601
        for x, y in loader:
            with torch.no_grad():  # right only
                goal = target(x)  # right only
            goal = target(x)  # wrong only
            learner.zero_grad()
            F.mse_loss(model(x), y + 0.9 * goal).backward()
            learner.step()
            for p, q in zip(model.parameters(), target.parameters()):
                q.data.mul_(0.99).add_(0.01 * p.data)
        """,
    "a target net in an agent is not detached": """
        class Agent:
            def __init__(self):
                self.net, self.target = nn.Linear(8, 3), nn.Linear(8, 3)
                self.target.load_state_dict(self.net.state_dict())
                self.learner = torch.optim.Adam(self.net.parameters())  # GL601

            def learn(self, x, reward, following):
                goal = reward + 0.99 * self.target(following).max(1)[0]
                goal = goal.detach()  # right only
                loss = F.mse_loss(self.net(x).max(1)[0], goal)
                self.learner.zero_grad()
                loss.backward()
                self.learner.step()

        agent = Agent()
        for i, (x, reward) in enumerate(loader):
            agent.learn(x, reward, x)
            if i % 100 == 0:
                agent.target.load_state_dict(agent.net.state_dict())
        """,
    "a criterion in a list has weights": """
        class Weighted(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(3))

            def forward(self, out, y):
                return (F.cross_entropy(out, y, reduction="none") * self.weight.sum()).mean()

        criteria = [nn.CrossEntropyLoss(), Weighted()]  # wrong only
        criteria = [nn.CrossEntropyLoss()]  # right only
        learner = torch.optim.Adam(model.parameters())  # GL601
        for x, y in loader:
            learner.zero_grad()
            out = model(x)
            sum(each(out, y) for each in criteria).backward()
            learner.step()
        """,
    "a clear that is not called": """
        for x, y in loader:
            optimizer.zero_grad()  # right only
            optimizer.zero_grad  # wrong only
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
        """,
    "a clear on some steps only": """
        for i, (x, y) in enumerate(loader):
            if i % 100 == 0:
                optimizer.zero_grad()  # wrong only
                print(i)
            optimizer.zero_grad()  # right only
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
        """,
    "a clear of the head alone": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 3)

            def forward(self, x):
                return self.head(self.body(x))

        net = Net()
        learner = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            net.zero_grad()  # right only
            net.head.zero_grad()  # wrong only
            criterion(net(x), y).backward()
            learner.step()  # GL101
        """,
    "a clear of the head of a library's net alone": """
        from torchvision.models import resnet18

        net = resnet18()
        learner = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            net.zero_grad()  # right only
            net.fc.zero_grad()  # wrong only
            criterion(net(x), y).backward()
            learner.step()  # GL101
        """,
    "a clear in a loop over time": """
        cell = nn.GRUCell(8, 3)
        learner = torch.optim.SGD(cell.parameters(), lr=0.1)
        for x, y in loader:
            learner.zero_grad()  # right only
            h = torch.zeros(16, 3)
            for t in range(5):
                learner.zero_grad()  # wrong only, GL201
                h = cell(x[t], h.detach())
                F.mse_loss(h, y[t]).div(5).backward()
            learner.step()
        """,
    "optimizers that are zipped with their schedules": """
        def train(net, optimizers, schedulers):
            for x, y in loader:
                for opt in optimizers:  # right only
                    opt.zero_grad()  # right only
                criterion(net(x), y).backward()
                for i, (opt, scheduler) in enumerate(zip(optimizers, schedulers)):
                    opt.step()  # GL101
                    scheduler.step()
        """,
    "a loop of a base class, whose turn two classes write": """
        class Base:
            def __init__(self, net, data, optimizer):
                self.net, self.data, self.optimizer = net, data, optimizer

            def train(self):
                for x, y in self.data:
                    self.turn(x, y)

        class Plain(Base):
            def turn(self, x, y):
                self.optimizer.zero_grad()
                criterion(self.net(x), y).backward()
                self.optimizer.step()

        class Mixed(Base):
            def turn(self, x, y):
                self.optimizer.zero_grad()  # right only
                with torch.autocast("cpu"):
                    loss = criterion(self.net(x), y)
                loss.backward()
                self.optimizer.step()  # GL101
        """,
    "a library's functions that are only called as if they trained": """
        from library import Sampler, convert_to_float8_training, set_training_mode

        convert_to_float8_training(model)
        for x, y in loader:
            optimizer.zero_grad()  # right only
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
            set_training_mode(model)
            sampler = Sampler.from_pretrained("base", model=model)
        """,
    "options of the optimizer in a dict": """
        def train(net, options, optimizer=None):
            options["optimizer"].update(lr=0.1)
            optimizer = optimizer or torch.optim.SGD(net.parameters(), **options["optimizer"])
            for x, y in loader:
                optimizer.zero_grad()  # right only
                criterion(net(x), y).backward()
                optimizer.step()  # GL101
        """,
    "too many paths through one function": """
        def train(a, b, c, d, e, f, g):
            nets = [nn.Linear(8, 8) for _ in range(3)]
            first = torch.optim.SGD(nets[0].parameters(), lr=0.1)
            second = torch.optim.SGD(nets[1].parameters(), lr=0.1)
            third = torch.optim.SGD(nets[2].parameters(), lr=0.1)
            for x, y in loader:
                optimizer.zero_grad()  # right only
                if a:
                    first.zero_grad()
                if b:
                    second.zero_grad()
                if c:
                    third.zero_grad()
                if d:
                    nets[0](x).mean().backward()
                if e:
                    nets[1](nets[0](x)).mean().backward()
                if f:
                    nets[2](nets[1](nets[0](x))).mean().backward()
                if g:
                    first.step()
                if a or b:
                    second.step()
                if b or c:
                    third.step()
                criterion(model(x), y).backward()
                optimizer.step()  # GL101
        """,
}
"""The first of a pair is silent; in the second the fault is found."""

"""Loops that stand in another file than the step that they call, or say nothing of gradients.

A line `# file: name` begins another file. The loop's own file has no word of gradients in it.
"""

from __future__ import annotations

HELPERS = """
        # file: helpers.py
        import torch
        from torch import nn

        def make_nets():
            low = nn.Linear(4, 8)
            high = nn.Linear(8, 1)
            return low, high

        def make_optimizer(net):
            return torch.optim.Adam(net.parameters())
"""
"""Nets that are made of nothing, and what owns them: whose they are, nobody says in one place."""

STEP = """
        # file: trainer.py
        import torch
        from torch import nn

        class Trainer:
            def __init__(self, model):
                self.model = model
                self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                self.criterion = nn.CrossEntropyLoss()

            def train_step(self, batch):
                x, y = batch
                self.optimizer.zero_grad()  # right only
                loss = self.criterion(self.model(x), y)
                loss.backward()
                self.optimizer.step()  # GL101
                return loss.item()
"""

TWINS = {
    "an abstract class leaves its hook to a class of another file": """
        # file: base.py
        import abc
        import torch

        class BaseTrainer(abc.ABC):
            def __init__(self, model, loader):
                self.model, self.loader = model, loader
                self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

            @abc.abstractmethod
            def compute_loss(self, batch):
                ...

            def before_step(self):
                pass

            def train(self):
                for batch in self.loader:
                    self.before_step()
                    self.compute_loss(batch).backward()
                    self.optimizer.step()  # GL101

        # file: classification.py
        from torch.nn import functional as F
        from base import BaseTrainer

        class ClassificationTrainer(BaseTrainer):
            def before_step(self):  # right only
                self.optimizer.zero_grad()  # right only

            def compute_loss(self, batch):
                x, y = batch
                return F.cross_entropy(self.model(x), y)
        """,
    "a file forgets to clear, and says nothing of torch": """
        # file: helpers.py
        import torch
        from torch import nn

        def make_net():
            return nn.Linear(4, 1)

        def make_optimizer(net):
            return torch.optim.Adam(net.parameters())

        # file: loop.py
        def train(net, batches, criterion, opt):
            for x, y in batches:
                net.zero_grad()  # right only
                criterion(net(x), y).backward()
                opt.step()  # GL101

        # file: main.py
        from data import criterion, loader
        from helpers import make_net, make_optimizer
        from loop import train

        net = make_net()
        opt = make_optimizer(net)
        for epoch in range(5):
            train(net, loader, criterion, opt)
        """,
    "a net is cleared that another file has made, and a third one given to an optimizer": """
        # file: helpers.py
        import torch
        from torch import nn

        def make_net():
            net = nn.Linear(4, 1)
            return net

        def make_optimizer(net):
            return torch.optim.Adam(net.parameters())

        # file: loop.py
        import torch

        def train(net, batches, criterion, opt):
            for x, y in batches:
                net.zero_grad()  # right only
                criterion(net(x), y).backward()
                opt.step()  # GL101

        # file: main.py
        from torch import nn
        from data import loader
        from helpers import make_net, make_optimizer
        from loop import train

        net = make_net()
        opt = make_optimizer(net)
        for epoch in range(5):
            train(net, loader, nn.MSELoss(), opt)
        """,
    "two nets are made at once, and each is cleared by itself": HELPERS
    + """
        # file: loop.py
        import torch

        def train(low, high, batches, criterion, low_opt, high_opt):
            for x, y in batches:
                low.zero_grad()
                high.zero_grad()  # right only
                criterion(low(x), y).backward()
                criterion(high(y), x).backward()
                low_opt.step()
                high_opt.step()  # GL101

        # file: main.py
        from torch import nn
        from data import loader
        from helpers import make_nets, make_optimizer
        from loop import train

        low, high = make_nets()
        low_opt = make_optimizer(low)
        high_opt = make_optimizer(net=high)
        for epoch in range(5):
            train(low, high, loader, nn.MSELoss(), low_opt, high_opt)
        """,
    "a net is handed on, and on again, before somebody asks for its parameters": HELPERS
    + """
        def make_optimizers(one, other):
            return make_optimizer(one), make_optimizer(other)

        # file: loop.py
        import torch

        def train(low, high, batches, criterion, low_opt, high_opt):
            for x, y in batches:
                high.zero_grad()  # right only
                low.zero_grad()  # right only
                criterion(low(x), y).backward()
                criterion(high(y), x).backward()
                low_opt.step()  # GL101
                high_opt.step()  # GL101

        # file: main.py
        from torch import nn
        from data import loader
        from helpers import make_nets, make_optimizers
        from loop import train

        low, high = make_nets()
        low_opt, high_opt = make_optimizers(low, high)
        for epoch in range(5):
            train(low, high, loader, nn.MSELoss(), low_opt, high_opt)
        """,
    "a script calls the step for each batch": STEP
    + """
        # file: main.py
        from data import loader, make
        from trainer import Trainer

        trainer = Trainer(make())
        for batch in loader:
            trainer.train_step(batch)
        """,
    "a function calls the step for each batch": STEP
    + """
        # file: main.py
        from data import loader, make
        import trainer as training

        def main():
            trainer = training.Trainer(make())
            for epoch in range(9):
                for batch in loader:
                    trainer.train_step(batch)
        """,
    "a function is given what trains": STEP
    + """
        # file: main.py
        from data import loader, make
        from trainer import Trainer

        def epoch(trainer, loader):
            for batch in loader:
                trainer.train_step(batch)

        def main():
            trainer = Trainer(make())
            for _ in range(9):
                epoch(trainer, loader)
        """,
    "an object has what trains": STEP
    + """
        # file: main.py
        from data import make
        from trainer import Trainer

        class Run:
            def __init__(self, loader):
                self.loader = loader
                self.trainer = Trainer(make())

            def go(self):
                for batch in self.loader:
                    self.once(batch)

            def once(self, batch):
                self.trainer.train_step(batch)
        """,
    "a subclass in a third file says nothing of gradients": STEP
    + """
        # file: quick.py
        from trainer import Trainer

        class Quick(Trainer):
            def name(self):
                return "quick"

        # file: main.py
        from data import loader, make
        from quick import Quick

        def main():
            trainer = Quick(make())
            for batch in loader:
                trainer.train_step(batch)
        """,
    "a package hands on what trains": STEP.replace("trainer.py", "lib/trainer.py")
    + """
        # file: lib/__init__.py
        from .trainer import Trainer

        # file: main.py
        from data import loader, make
        from lib import Trainer

        def main():
            trainer = Trainer(make())
            for batch in loader:
                trainer.train_step(batch)
        """,
    "the step is a function": """
        # file: lib/steps.py
        import torch

        def train_step(model, optimizer, x, y):
            optimizer.zero_grad()  # right only
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()  # GL101

        def make_all():
            model = torch.nn.Linear(8, 3)
            return model, torch.optim.Adam(model.parameters())

        # file: main.py
        from data import loader
        from lib.steps import make_all, train_step

        def main():
            model, optimizer = make_all()
            for x, y in loader:
                train_step(model, optimizer, x, y)
        """,
    "each part of the step is a method of its own": """
        # file: agent.py
        import torch

        class Agent:
            def __init__(self, net):
                self.net = net
                self.optimizer = torch.optim.Adam(net.parameters())

            def learn(self, x, y):
                torch.nn.functional.mse_loss(self.net(x), y).backward()

            def forget(self):
                self.optimizer.zero_grad()  # GL201

            def move(self):
                self.optimizer.step()

        # file: main.py
        from agent import Agent
        from data import loader, make

        def main():
            agent = Agent(make())
            for x, y in loader:
                agent.forget()  # right only
                agent.learn(x, y)
                agent.forget()  # wrong only
                agent.move()
        """,
    "a schedule moves where the loop says": """
        # file: trainer.py
        import torch

        class Trainer:
            def __init__(self, model):
                self.model = model
                self.optimizer = torch.optim.Adam(model.parameters())
                self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 3)

            def train_step(self, x, y):
                self.optimizer.zero_grad()
                torch.nn.functional.mse_loss(self.model(x), y).backward()
                self.optimizer.step()

            def slower(self):
                self.schedule.step()  # GL503

        # file: main.py
        from data import loader, make
        from trainer import Trainer

        def main():
            trainer = Trainer(make())
            for epoch in range(9):
                trainer.slower()  # wrong only
                for x, y in loader:
                    trainer.train_step(x, y)
                trainer.slower()  # right only
        """,
    "what a step returns is added up with its graph": """
        # file: trainer.py
        import torch

        class Trainer:
            def __init__(self, model):
                self.model = model
                self.optimizer = torch.optim.Adam(model.parameters())

            def train_step(self, x, y):
                self.optimizer.zero_grad()
                loss = torch.nn.functional.mse_loss(self.model(x), y)
                loss.backward()
                self.optimizer.step()
                return loss.item()  # right only
                return loss  # wrong only

        # file: main.py
        from data import loader, make
        from trainer import Trainer

        def main():
            trainer = Trainer(make())
            total = 0
            for x, y in loader:
                total += trainer.train_step(x, y)  # GL701
            print(total)
        """,
    "a step counts its calls": """
        # file: trainer.py
        import torch

        class Trainer:
            def __init__(self, model):
                self.model = model
                self.optimizer = torch.optim.Adam(model.parameters())
                self.calls = 0

            def train_step(self, x, y):
                loss = torch.nn.functional.mse_loss(self.model(x), y)
                loss = loss / 4  # right only
                loss.backward()  # GL301
                self.calls += 1
                if self.calls % 4 == 0:
                    self.optimizer.step()
                    self.optimizer.zero_grad()

        # file: main.py
        from data import endless, make
        from trainer import Trainer

        def main():
            trainer = Trainer(make())
            while True:
                x, y = next(endless)
                trainer.train_step(x, y)
        """,
    "a class steps itself, and its base says how": """
        # file: base.py
        import torch

        class Base:
            def __init__(self, model):
                self.model = model
                self.optimizer = torch.optim.Adam(model.parameters())

            def deposit(self, x, y):
                torch.nn.functional.mse_loss(self.model(x), y).backward()

            def step(self):
                self.optimizer.step()  # GL101
                self.optimizer.zero_grad()  # right only

        # file: main.py
        import torch
        from base import Base
        from data import loader

        class Trainer(Base):
            def train(self):
                for x, y in loader:
                    self.deposit(x, y)
                    self.step()

        Trainer(torch.nn.Linear(2, 1)).train()
        """,
    "a loader without an end stands in a file without gradients": """
        # file: batches.py
        class Endless:
            def __init__(self, loader):
                self.loader = loader

            def __iter__(self):
                while True:  # right only
                for _ in range(3):  # wrong only
                    yield next(self.loader)

        def forever(): # while True
            pass

        # file: main.py
        import torch
        from batches import Endless
        from data import loader

        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.Adam(model.parameters())
        batches, done = Endless(loader), 0
        while done < 100:
            for i, (x, y) in enumerate(batches):
                (torch.nn.functional.mse_loss(model(x), y) / 4).backward()  # GL203
                if (i + 1) % 4 == 0:
                    done += 1
                    optimizer.step()
                    optimizer.zero_grad()
                if done == 100:
                    break
        """,
}

"""Helpers, methods, wrappers and containers: followed to where the gradients are."""

from __future__ import annotations

from tests.static.programs import ONE_NET, check, correct, each, faulty, finds, shown

HELPERS = {
    "a helper gets the optimizer and does it all": """
        def update(net, opt, x, y):
            opt.zero_grad()  # right only
            criterion(net(x), y).backward()
            opt.step()  # GL101

        for x, y in loader:
            update(model, optimizer, x, y)
        """,
    "a helper only clears": """
        def reset(opt):
            opt.zero_grad()

        for x, y in loader:
            reset(optimizer)  # right only
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
        """,
    "a helper only steps": """
        def apply(opt, clip=None):
            if clip is not None:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            opt.step()  # GL101

        for x, y in loader:
            optimizer.zero_grad()  # right only
            criterion(model(x), y).backward()
            apply(optimizer, clip=1.0)
        """,
    "a helper in a helper": """
        def deposit(loss):
            loss.backward()

        def update(loss):
            optimizer.zero_grad()  # right only
            deposit(loss)
            optimizer.step()  # GL101

        for x, y in loader:
            update(criterion(model(x), y))
        """,
    "main makes everything and hands it on": """
        def train_epoch(net, opt, data):
            for x, y in data:
                opt.zero_grad()  # right only
                criterion(net(x), y).backward()
                opt.step()  # GL101

        def main():
            net = nn.Linear(8, 3)
            opt = torch.optim.Adam(net.parameters())
            for epoch in range(epochs):
                train_epoch(net, opt, loader)

        if __name__ == "__main__":
            main()
        """,
    "a function that nobody here calls is followed all the same": """
        def train(net, opt, data):
            net.train()
            for x, y in data:
                opt.zero_grad()  # right only
                criterion(net(x), y).backward()
                opt.step()  # GL101
        """,
    "a function may make the optimizer": """
        def make(net, name):
            if name == "adam":
                return torch.optim.Adam(net.parameters())
            return torch.optim.SGD(net.parameters(), lr=0.1)

        opt = make(model, "adam")
        for x, y in loader:
            opt.zero_grad()  # right only
            criterion(model(x), y).backward()
            opt.step()  # GL101
        """,
    "a lambda clears": """
        clear = lambda: optimizer.zero_grad()
        for x, y in loader:
            clear()  # right only
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
        """,
    "a partial is its function": """
        from functools import partial

        def update(opt, x, y):
            opt.zero_grad()  # right only
            criterion(model(x), y).backward()
            opt.step()  # GL101

        go = partial(update, optimizer)
        for x, y in loader:
            go(x, y)
        """,
}

CLASSES = {
    "one method clears and another steps": """
        class Trainer:
            def __init__(self, net):
                self.net = net
                self.optimizer = torch.optim.Adam(net.parameters())

            def reset(self):
                self.optimizer.zero_grad()

            def update(self, loss):
                loss.backward()
                self.optimizer.step()  # GL101

            def fit(self, data):
                for x, y in data:
                    self.reset()  # right only
                    self.update(criterion(self.net(x), y))

        Trainer(model).fit(loader)
        """,
    "a trainer that nobody makes is followed all the same": """
        class Trainer:
            def __init__(self, net, optimizer, data):
                self.net, self.optimizer, self.data = net, optimizer, data

            def train(self):
                for x, y in self.data:
                    self.optimizer.zero_grad()  # right only
                    criterion(self.net(x), y).backward()
                    self.optimizer.step()  # GL101
        """,
    "a base class keeps the cycle, a subclass has the loss": """
        class Base:
            def __init__(self, net):
                self.net = net
                self.optimizer = torch.optim.Adam(net.parameters())

            def fit(self, data):
                for batch in data:
                    self.optimizer.zero_grad()  # right only
                    self.loss(batch).backward()
                    self.optimizer.step()  # GL101

        class Classifier(Base):
            def loss(self, batch):
                x, y = batch
                return criterion(self.net(x), y)

        Classifier(model).fit(loader)
        """,
    "super() is the class above": """
        class Base:
            def __init__(self, net):
                self.net = net
                self.optimizer = torch.optim.Adam(net.parameters())

            def before(self):
                self.optimizer.zero_grad()  # right only
                print("a batch")

        class Loud(Base):
            def before(self):
                super().before()
                print("here it comes")

            def fit(self, data):
                for x, y in data:
                    self.before()
                    criterion(self.net(x), y).backward()
                    self.optimizer.step()  # GL101

        Loud(model).fit(loader)
        """,
    "a wrapper class hands clear and step on": """
        class ScheduledOptim:
            def __init__(self, inner, width):
                self.inner = inner
                self.width = width
                self.steps = 0

            def zero_grad(self):
                self.inner.zero_grad()

            def step_and_update_lr(self):
                self.steps += 1
                for group in self.inner.param_groups:
                    group["lr"] = self.width**-0.5 * self.steps**-0.5
                self.inner.step()  # GL101

        wrapped = ScheduledOptim(optimizer, 512)
        for x, y in loader:
            wrapped.zero_grad()  # right only
            criterion(model(x), y).backward()
            wrapped.step_and_update_lr()
        """,
    "a property gives the optimizer": """
        class Trainer:
            def __init__(self, net):
                self.net = net
                self._optimizer = torch.optim.Adam(net.parameters())

            @property
            def opt(self):
                return self._optimizer

            def fit(self, data):
                for x, y in data:
                    self.opt.zero_grad()  # right only
                    criterion(self.net(x), y).backward()
                    self.opt.step()  # GL101

        Trainer(model).fit(loader)
        """,
    "a net may train itself, layer by layer": """
        class Layer(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(8, 8)
                self.opt = torch.optim.SGD(self.parameters(), lr=0.1)

            def learn(self, x, rounds):
                for _ in range(rounds):
                    loss = self.linear(x).pow(2).mean()
                    self.opt.zero_grad()  # right only
                    loss.backward()
                    self.opt.step()  # GL101
        """,
}

SEVERAL = {
    "a list of optimizers is cleared and stepped in loops": """
        second = nn.Linear(3, 3)
        optimizers = [optimizer, torch.optim.Adam(second.parameters())]
        for x, y in loader:
            for o in optimizers:  # right only
                o.zero_grad()  # right only
            criterion(second(model(x)), y).backward()
            for o in optimizers:
                o.step()  # GL101
        """,
    "a dict of optimizers is cleared and stepped by name": """
        nets = {"body": nn.Linear(8, 8), "head": nn.Linear(8, 3)}
        optimizers = {
            "body": torch.optim.SGD(nets["body"].parameters(), lr=0.1),
            "head": torch.optim.SGD(nets["head"].parameters(), lr=0.1),
        }
        for x, y in loader:
            optimizers["body"].zero_grad()
            optimizers["head"].zero_grad()  # right only
            criterion(nets["head"](nets["body"](x)), y).backward()
            optimizers["body"].step()
            optimizers["head"].step()  # GL101
        """,
    "the values of a dict of optimizers are all of them": """
        head = nn.Linear(3, 3)
        optimizers = {"body": optimizer, "head": torch.optim.Adam(head.parameters())}
        for x, y in loader:
            for o in optimizers.values():  # right only
                o.zero_grad()  # right only
            criterion(head(model(x)), y).backward()
            for o in optimizers.values():
                o.step()  # GL101
        """,
    "two optimizers after one backward": """
        head = nn.Linear(3, 3)
        second = torch.optim.Adam(head.parameters())
        for x, y in loader:
            optimizer.zero_grad()
            second.zero_grad()  # right only
            criterion(head(model(x)), y).backward()
            optimizer.step()
            second.step()  # GL101
        """,
    "phases share one optimizer": """
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
        for x, y in loader:
            optimizer.zero_grad()  # right only
            F.mse_loss(model(x), y).backward()
            optimizer.step()  # GL101
        """,
    "each turn of a round clears for itself": """
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()  # right only
            model(x).pow(2).mean().backward()
            optimizer.step()  # GL101
        """,
}

GANS = {
    "a GAN whose discriminator is cleared at the start of its turn": """
        for real, _ in loader:
            noise = torch.randn(16, 8)
            opt_d.zero_grad()
            fake = generator(noise)
            loss_d = F.softplus(-critic(real)).mean() + F.softplus(critic(fake.detach())).mean()
            loss_d.backward()
            opt_d.step()
            opt_g.zero_grad()  # right only
            F.softplus(-critic(fake)).mean().backward()
            opt_g.step()  # GL101
        """,
    "the generator's loss must not leak into the discriminator's step": """
        for real, _ in loader:
            noise = torch.randn(16, 8)
            fake = generator(noise)
            opt_g.zero_grad()
            F.softplus(-critic(fake)).mean().backward()
            opt_g.step()
            opt_d.zero_grad()  # right only
            F.softplus(critic(fake.detach())).mean().backward()
            opt_d.step()  # GL102
            opt_d.zero_grad()  # wrong only
        """,
    "the critic's two losses are one window": """
        for real, _ in loader:
            critic.zero_grad()  # right only
            F.softplus(-critic(real)).mean().backward()
            F.softplus(critic(generator(torch.randn(16, 8)).detach())).mean().backward()
            opt_d.step()  # GL101
            generator.zero_grad()
            critic.requires_grad_(False)
            F.softplus(-critic(generator(torch.randn(16, 8)))).mean().backward()
            critic.requires_grad_(True)
            opt_g.step()
        """,
    "the critic is trained several times for each generator's turn": """
        for real, _ in loader:
            for _ in range(5):
                opt_d.zero_grad()
                (critic(generator(torch.randn(16, 8)).detach()) - critic(real)).mean().backward()
                opt_d.step()
            opt_g.zero_grad()  # right only
            (-critic(generator(torch.randn(16, 8)))).mean().backward()
            opt_g.step()  # GL101
        """,
}

TWO_NETS = """\
generator = nn.Linear(8, 8)
critic = nn.Linear(8, 1)
opt_g = torch.optim.Adam(generator.parameters())
opt_d = torch.optim.Adam(critic.parameters())
"""

TWINS = {**HELPERS, **CLASSES, **SEVERAL}

FALSE_ALARMS: dict[str, str] = {}
MISSED: dict[str, str] = {}


@each(TWINS, after=ONE_NET, wrong=FALSE_ALARMS)
def test_nothing_is_said_of_the_correct_program(text: str) -> None:
    assert shown(check(correct(text))) == set()


@each(TWINS, after=ONE_NET, wrong=MISSED)
def test_the_fault_is_found_in_its_line_and_nothing_else(text: str) -> None:
    program, expected = faulty(text)
    assert finds(check(program), expected)


@each(GANS, after=ONE_NET + TWO_NETS)
def test_at_most_wasted_work_is_told_of_a_correct_gan(text: str) -> None:
    assert {rule for rule, _ in shown(check(correct(text)))} <= {"GL204"}


@each(GANS, after=ONE_NET + TWO_NETS)
def test_the_fault_of_a_gan_is_found_in_its_line(text: str) -> None:
    program, expected = faulty(text)
    assert {found for found in shown(check(program)) if found[0] != "GL204"} == expected

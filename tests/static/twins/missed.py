"""Faults that were missed once."""

from __future__ import annotations

MISSED = {
    "a class of optimizers that is chosen first and made an optimizer of later": """
        def made(args, net):
            if args.kind == "SGD":
                make = torch.optim.SGD
                options = {"momentum": 0.9}
            elif args.kind == "Adam":
                make = torch.optim.Adam
                options = {"eps": 1e-8}
            options["lr"] = args.rate
            return make(net.parameters(), **options)

        class Trainer:
            def __init__(self, args, net):
                self.net = net
                self.spender = made(args, net)
                self.schedule = torch.optim.lr_scheduler.StepLR(self.spender, 10)

            def train(self):
                self.schedule.step()  # GL503
                for x, y in loader:
                    self.spender.zero_grad()
                    criterion(self.net(x), y).backward()
                    self.spender.step()

        def main(args):
            trainer = Trainer(args, model)
            for epoch in range(epochs):
                trainer.train()
        """,
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
    "a scaler that is handed in, and its step by a keyword": """
        class Trainer:
            def __init__(self, net, one, scaler, window):
                self.net, self.one, self.scaler, self.window = net, one, scaler, window

            def epoch(self, data):
                for i, (x, y) in enumerate(data):
                    loss = criterion(self.net(x), y) / self.window
                    self.scaler.scale(loss).backward()  # GL203
                    if (i + 1) % self.window == 0:
                        self.scaler.unscale_(self.one)
                        self.scaler.step(optimizer=self.one)
                        self.scaler.update()
                        self.one.zero_grad()

            def fit(self, data):
                for _ in range(epochs):
                    self.epoch(data)
        """,
    "the norm of scaled gradients, by hand": """
        scaler = torch.amp.GradScaler("cuda")
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            print(sum([w.grad.norm() for w in model.parameters()]))  # GL401
            scaler.step(optimizer)
            scaler.update()
        """,
    "the norm of scaled gradients, by a function of torch's": """
        def norm_of(net):
            norms = [torch.norm(p.grad.detach(), 2) for p in net.parameters()]  # GL401
            return torch.norm(torch.stack(norms), 2).item()

        scaler = torch.amp.GradScaler("cuda")
        for i, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            if i % 100 == 0:
                print(norm_of(model))
            scaler.step(optimizer)
            scaler.update()
        """,
    "the norm of all scaled gradients at once": """
        scaler = torch.amp.GradScaler("cuda")
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            grads = [p.grad for p in model.parameters()]
            print(torch.nn.utils.get_total_norm(grads))  # GL401
            print(torch.linalg.vector_norm(grads[0]))  # GL401
            scaler.step(optimizer)
            scaler.update()
        """,
    "numbers that go along with the data count it": """
        for epoch in range(epochs):
            for i, (x, y) in zip(range(len(loader)), loader):
                (criterion(model(x), y) / 4).backward()  # GL203
                if (i + 1) % 4 == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "a function that a method makes and returns is called for each batch": """
        class Agent:
            def build(self, net):
                one = torch.optim.Adam(net.parameters())

                def train(x, y):
                    criterion(net(x), y).backward()
                    one.step()  # GL101

                return train
        """,
    "what a subclass overrides is called by the methods of its base": """
        class Base:
            def __init__(self, loader):
                self.loader = loader
                self.net = nn.Linear(8, 3)
                self.spender = torch.optim.SGD(self.net.parameters(), lr=0.1)

            def train_step(self, x, y):
                raise NotImplementedError

            def train(self):
                for x, y in self.loader:
                    self.train_step(x, y)

            def run(self):
                for epoch in range(epochs):
                    self.train()

        class Runner(Base):
            def train_step(self, x, y):
                criterion(self.net(x), y).backward()
                self.spender.step()  # GL101

        def main():
            runner = Runner(loader)
            runner.run()

        if __name__ == "__main__":
            main()
        """,
    "the first that a model of transformers gives is its loss": """
        from transformers import AutoModelForMaskedLM

        net = AutoModelForMaskedLM.from_pretrained("base")
        spender = torch.optim.AdamW(net.parameters())
        step = 0
        for epoch in range(epochs):
            for x in loader:
                step += 1
                net(x, labels=x)[0].backward()  # GL301
                if step % 4 == 0:
                    spender.step()
                    spender.zero_grad()
        """,
    "the first of two, by its name": """
        from transformers import AutoModelForMaskedLM

        net = AutoModelForMaskedLM.from_pretrained("base")
        spender = torch.optim.AdamW(net.parameters())
        step = 0
        for epoch in range(epochs):
            for x in loader:
                step += 1
                loss, logits = net(x, labels=x)
                loss.backward()  # GL301
                if step % 4 == 0:
                    spender.step()
                    spender.zero_grad()
        """,
    "a schedule of one's own is stepped as that of torch": """
        class WarmUp(torch.optim.lr_scheduler.LambdaLR):
            def __init__(self, optimizer, steps):
                self.steps = steps
                super().__init__(optimizer, self.factor)

            def factor(self, step):
                return min(1.0, step / self.steps)

        schedule = WarmUp(optimizer, 100)
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            schedule.step()  # GL503
            optimizer.step()
        """,
    "no number leaves a rest when it is divided by one": """
        for i, (x, y) in enumerate(loader):
            if i % 1 == 1:
                optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
        """,
    "each fold of the data has a net of its own": """
        def fit(fold):
            net = nn.Linear(8, 3)
            spender = torch.optim.SGD(net.parameters(), lr=0.1)
            for epoch in range(epochs):
                for i, (x, y) in enumerate(loader):
                    net.zero_grad()  # GL201
                    criterion(net(x), y).backward()  # GL203
                    if (i + 1) % 5 == 0 or i == len(loader):
                        spender.step()

        fit(0)
        fit(1)
        fit(2)
        fit(3)
        fit(4)
        """,
    "to ask an optimizer for something changes nothing": """
        for epoch in range(epochs):
            for i, (x, y) in enumerate(loader):
                (criterion(model(x), y) / 4).backward()  # GL203
                if (i + 1) % 4 == 0:
                    optimizer.step()
                    optimizer.zero_grad()
                print(optimizer.get_average_rate())
        """,
    "a scaler is updated by a call, and not by its name": """
        def train(judge, maker, opt_judge, opt_maker, of_judge, of_maker):
            for z, real in loader:
                fake = maker(z)
                told, known = judge(fake.detach()), judge(real)
                opt_judge.zero_grad()
                of_judge.scale(told.pow(2).mean() + (known - 1).pow(2).mean()).backward()
                of_judge.step(opt_judge)  # GL403
                of_judge.update
                opt_maker.zero_grad()
                of_maker.scale((judge(fake) - 1).pow(2).mean()).backward()
                of_maker.step(opt_maker)
                of_maker.update()

        judge, maker = nn.Linear(8, 1), nn.Linear(8, 8)
        opt_judge = torch.optim.Adam(judge.parameters())
        opt_maker = torch.optim.Adam(maker.parameters())
        of_judge, of_maker = torch.amp.GradScaler(), torch.amp.GradScaler()
        for epoch in range(epochs):
            train(judge, maker, opt_judge, opt_maker, of_judge, of_maker)
        """,
}

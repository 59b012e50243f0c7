"""The shapes in which loops are written in public: the correct ones that look wrong, and faults."""

from __future__ import annotations

from tests.static.programs import ONE_NET, check, correct, each, faulty, finds, shown

FAULTS = {
    "only the branch without a scaler clears": """
        from data import args

        scaler = torch.amp.GradScaler()
        for x, y in loader:
            with torch.autocast("cuda", enabled=args.bf16):
                loss = criterion(model(x), y)
            if not args.bf16:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            else:
                optimizer.zero_grad()  # right only
                scaler.scale(loss).backward()
                scaler.step(optimizer)  # GL101
                scaler.update()
        """,
    "an executor clips, looks at the norm, and steps": """
        class Executor:
            def train(self, net, opt, data, args):
                for i, (x, y) in enumerate(data):
                    loss = criterion(net(x), y)
                    opt.zero_grad()  # right only
                    loss.backward()
                    norm = nn.utils.clip_grad_norm_(net.parameters(), args.clip)
                    if torch.isfinite(norm):
                        opt.step()  # GL101
        """,
    "a norm is clipped when it is too late": """
        from data import args

        for i in range(args.rounds):
            for x, y in loader:
                loss = criterion(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                if args.clip:
                    nn.utils.clip_grad_norm_(model.parameters(), args.clip)  # right only
                    print("clipped")
                optimizer.step()
                if args.clip:
                    nn.utils.clip_grad_norm_(model.parameters(), args.clip)  # wrong only, GL501
        """,
    "micro-steps of a language model are means": """
        from data import args, get_batch

        scaler = torch.amp.GradScaler(enabled=args.half)
        for step in range(args.steps):
            for micro in range(args.micro_steps):
                x, y = get_batch("train")
                logits = model(x)
                loss = F.cross_entropy(logits.view(-1, 3), y.view(-1))
                loss = loss / args.micro_steps  # right only
                scaler.scale(loss).backward()  # GL301
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
        """,
    "a demo of ten rounds on fresh data": """
        for i in range(10):
            optimizer.zero_grad()  # right only
            output = model(torch.rand(20, 8))
            output.sum().backward()
            optimizer.step()  # GL101
        """,
    "clips scaled gradients in one branch of a method": """
        class Trainer:
            def __init__(self, net, config):
                self.net = net
                self.config = config
                self.optimizer = torch.optim.AdamW(net.parameters())
                self.scaler = torch.amp.GradScaler() if config.amp else None

            def run_batch(self, x, y):
                loss = criterion(self.net(x), y)
                self.optimizer.zero_grad(set_to_none=True)
                if self.config.amp:
                    self.scaler.scale(loss).backward()
                    self.scaler.unscale_(self.optimizer)  # right only
                    nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)  # GL401
                    self.scaler.step(self.optimizer)
                    self.scaler.update()
                else:
                    loss.backward()
                    nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
                    self.optimizer.step()
                return loss.item()

            def fit(self, data):
                for x, y in data:
                    self.run_batch(x, y)
        """,
    "schedulers before the epoch that they are for": """
        def train(net, opt, data):
            for x, y in data:
                opt.zero_grad()
                criterion(net(x), y).backward()
                opt.step()

        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5)
        for epoch in range(epochs):
            scheduler.step()  # wrong only, GL503
            train(model, optimizer, loader)
            scheduler.step()  # right only
        """,
    "outputs of an epoch keep the graph of their loss": """
        class Trainer:
            def train(self, net, opt, data):
                outputs = []
                for x, y in data:
                    opt.zero_grad()
                    loss = criterion(net(x), y)
                    loss.backward()
                    opt.step()
                    outputs.append(loss.detach())  # right only
                    outputs.append(loss)  # wrong only, GL701
                return torch.stack(outputs).mean()
        """,
    "a hidden state is carried from chunk to chunk": """
        rnn = nn.LSTM(8, 8)
        opt = torch.optim.SGD(rnn.parameters(), lr=1.0)
        hidden = None
        for x, y in loader:
            if hidden is not None:
                hidden = tuple(h.detach() for h in hidden)  # right only
                print(len(hidden))
            opt.zero_grad()
            output, hidden = rnn(x, hidden)  # GL702
            F.mse_loss(output, y).backward()
            opt.step()
        """,
}

CORRECT = {
    "a reinforcement environment has steps of its own": """
        from data import env

        for episode in range(1000):
            state, rewards, logs = env.reset(), [], []
            for t in range(100):
                distribution = torch.distributions.Categorical(logits=model(state))
                action = distribution.sample()
                logs.append(distribution.log_prob(action))
                state, reward, done, _ = env.step(action.item())
                rewards.append(reward)
                if done:
                    break
            loss = -(torch.stack(logs) * torch.tensor(rewards)).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    "an agent's finish_episode clears for itself": """
        def finish_episode(saved):
            loss = torch.stack([-log * reward for log, reward in saved]).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            del saved[:]

        def main():
            saved = []
            for episode in range(100):
                for t in range(1000):
                    saved.append((model(torch.randn(8)).log_softmax(0)[0], 1.0))
                finish_episode(saved)

        if __name__ == "__main__":
            main()
        """,
    "an image is the parameter": """
        image = torch.rand(1, 8, requires_grad=True)
        painter = torch.optim.LBFGS([image])
        rounds = [0]
        while rounds[0] <= 300:
            def closure():
                painter.zero_grad()
                loss = model(image).pow(2).mean()
                loss.backward()
                rounds[0] += 1
                return loss

            painter.step(closure)
        """,
    "an attack clears the gradients of its input by hand": """
        for x, y in loader:
            delta = torch.zeros_like(x, requires_grad=True)
            for _ in range(10):
                criterion(model(x + delta), y).backward()
                delta.data = (delta + 0.01 * delta.grad.sign()).clamp(-0.1, 0.1)
                delta.grad.zero_()
            optimizer.zero_grad()
            criterion(model(x + delta.detach()), y).backward()
            optimizer.step()
        """,
    "distributed autograd keeps gradients in a context": """
        import torch.distributed.autograd as dist_autograd
        from torch.distributed.optim import DistributedOptimizer

        opt = DistributedOptimizer(torch.optim.SGD, model.parameter_rrefs(), lr=0.05)
        for x, y in loader:
            with dist_autograd.context() as context_id:
                loss = criterion(model(x), y)
                dist_autograd.backward(context_id, [loss])
                opt.step(context_id)
        """,
    "tasks of a meta-learner are averaged in the gradients": """
        from data import tasks

        for iteration in range(1000):
            optimizer.zero_grad()
            for task in range(32):
                x, y = tasks.sample()
                criterion(model(x), y).backward()
            for p in model.parameters():
                p.grad.data.mul_(1.0 / 32)
            optimizer.step()
        """,
    "a meta-gradient is assigned by hand": """
        import copy

        for iteration in range(1000):
            clone = copy.deepcopy(model)
            inner = torch.optim.SGD(clone.parameters(), lr=0.1)
            for x, y in loader:
                inner.zero_grad()
                criterion(clone(x), y).backward()
                inner.step()
            for p, q in zip(model.parameters(), clone.parameters()):
                p.grad = p.data - q.data
            optimizer.step()
        """,
    "gradients by torch.autograd.grad are no deposits": """
        for x, y in loader:
            loss = criterion(model(x), y)
            gradients = torch.autograd.grad(loss, model.parameters())
            with torch.no_grad():
                for p, g in zip(model.parameters(), gradients):
                    p -= 0.1 * g
        """,
    "either an optimizer or the hand does the update": """
        from data import args

        opt = torch.optim.Adam(model.parameters()) if args.adam else None
        for x, y in loader:
            if opt is not None:
                opt.zero_grad()
            else:
                model.zero_grad()
            criterion(model(x), y).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            if opt is not None:
                opt.step()
            else:
                for p in model.parameters():
                    p.data.add_(p.grad, alpha=-0.1)
        """,
    "a net is trained in its training mode alone": """
        def run_epoch(net, opt, data):
            losses = []
            for x, y in data:
                loss = criterion(net(x), y)
                if net.training:
                    loss.backward()
                    opt.step()
                    opt.zero_grad()
                losses.append(loss.item())
            return sum(losses)

        def fit(net, opt, data):
            for epoch in range(epochs):
                net = net.train()
                run_epoch(net, opt, data)
                net = net.eval()
                with torch.no_grad():
                    run_epoch(net, opt, data)
        """,
    "a DCGAN clears nets and not optimizers": """
        netg, netd = nn.Linear(8, 8), nn.Linear(8, 1)
        opt_d = torch.optim.Adam(netd.parameters())
        opt_g = torch.optim.Adam(netg.parameters())
        bce = nn.BCEWithLogitsLoss()
        for real, _ in loader:
            netd.zero_grad()
            bce(netd(real), torch.ones(16, 1)).backward()
            fake = netg(torch.randn(16, 8))
            bce(netd(fake.detach()), torch.zeros(16, 1)).backward()
            opt_d.step()
            netg.zero_grad()
            bce(netd(fake), torch.ones(16, 1)).backward()
            opt_g.step()
        """,
    "the last window has a divisor of its own": """
        from data import args

        n = args.grad_accum
        last = len(loader) % n
        for epoch in range(epochs):
            optimizer.zero_grad()
            for i, (x, y) in enumerate(loader):
                is_last = i == len(loader) - 1
                need_update = is_last or (i + 1) % n == 0
                size = last if last and i >= len(loader) - last else n
                loss = criterion(model(x), y) / size
                loss.backward()
                if not need_update:
                    continue
                optimizer.step()
                optimizer.zero_grad()
        """,
    "a sequence's loss is summed and walked once": """
        rnn = nn.RNNCell(8, 8)
        opt = torch.optim.Adam(rnn.parameters())

        def train(sequence, target):
            hidden = torch.zeros(1, 8)
            opt.zero_grad()
            loss = 0
            for k in range(len(sequence)):
                hidden = rnn(sequence[k], hidden)
                loss += F.mse_loss(hidden, target[k])
            loss.backward()
            opt.step()
            return loss.item() / len(sequence)

        total = 0
        for epoch in range(epochs):
            total += train(*dataset[epoch])
        """,
    "a meter averages numbers": """
        class Meter:
            def __init__(self):
                self.sum, self.count = 0.0, 0

            def update(self, value):
                self.sum += value
                self.count += 1

        meter = Meter()
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            meter.update(loss.item())
        """,
    "a loop that only looks at gradients spends nothing": """
        x, y = next(iter(loader))
        criterion(model(x), y).backward()
        for name, p in model.named_parameters():
            print(name, p.grad.norm())
        """,
    "a bad batch is skipped after it was cleared": """
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            if not torch.isfinite(loss):
                continue
            loss.backward()
            optimizer.step()
        """,
    "the whole data set is one batch": """
        x, y = next(iter(loader))
        for epoch in range(500):
            def closure():
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                return loss

            optimizer.step(closure)
        """,
}

FALSE_ALARMS: dict[str, str] = {}
MISSED: dict[str, str] = {}


@each({**FAULTS, **CORRECT}, after=ONE_NET, wrong=FALSE_ALARMS)
def test_nothing_is_said_of_the_correct_program(text: str) -> None:
    assert {rule for rule, _ in shown(check(correct(text)))} <= {"GL204"}


@each(FAULTS, after=ONE_NET, wrong=MISSED)
def test_the_fault_is_found_in_its_line_and_nothing_else(text: str) -> None:
    program, expected = faulty(text)
    assert finds(check(program), expected)

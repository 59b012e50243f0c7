"""Gradients that nobody has a use for: GL204."""

from __future__ import annotations

TWINS = {
    "a net that is frozen, with an optimizer that never steps": """
        body, head = nn.Linear(8, 8), nn.Linear(8, 3)
        body_optimizer = torch.optim.SGD(body.parameters(), lr=0.1)
        head_optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
        for p in body.parameters():  # right only
            p.requires_grad = False  # right only
        for x, y in loader:
            body_optimizer.zero_grad()  # GL204
            head_optimizer.zero_grad()
            criterion(head(body(x)), y).backward()
            head_optimizer.step()
        """,
    "an option that freezes a net is the same where its turn comes": """
        def give(net, on):
            for p in net.parameters():
                p.requires_grad = on

        def train(loader, options):
            author, critic = nn.Linear(8, 8), nn.Linear(8, 1)
            ours = torch.optim.Adam(author.parameters())
            theirs = torch.optim.Adam(critic.parameters())
            for x, _ in loader:
                fake = author(x)
                loss = (fake - x).square().mean() - critic(fake).mean()
                if options.judged:  # right only
                    give(critic, False)  # right only
                ours.zero_grad()
                loss.backward()
                ours.step()
                if options.judged:
                    give(critic, True)  # right only
                    theirs.zero_grad()  # GL204
                    (critic(fake.detach()).mean() - critic(x).mean()).backward()
                    theirs.step()
        """,
    "what a function makes of data is data, whatever else it makes": """
        def crops(real, fake):
            return real[:, :4], fake[:, :4]

        maker, judge = nn.Linear(8, 8), nn.Linear(12, 1)
        making = torch.optim.SGD(maker.parameters(), lr=0.1)
        judging = torch.optim.SGD(judge.parameters(), lr=0.1)
        for x, y in loader:
            making.zero_grad()  # GL204
            fake = maker(x)
            real_part, fake_part = crops(y, fake)
            judge.requires_grad_(False)
            judge(torch.cat([fake, fake_part], 1)).mean().backward()
            making.step()
            judge.requires_grad_(True)
            judging.zero_grad()
            told = judge(torch.cat([fake.detach(), fake_part.detach()], 1))  # right only
            told = judge(torch.cat([maker(x), real_part], 1))  # wrong only
            (told - judge(torch.cat([y, real_part], 1))).mean().backward()
            judging.step()
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
    "what is put into a batch is one of many": """
        author, critic = nn.Linear(8, 8), nn.Bilinear(8, 8, 1)
        ours = torch.optim.Adam(author.parameters())
        theirs = torch.optim.Adam(critic.parameters())
        for batch in loader:
            batch.append(author(batch[0]))
            theirs.zero_grad()
            one, other = batch[0], batch[2].detach()  # right only
            one = other = author(batch[0])  # wrong only
            critic(one, other).mean().backward()
            theirs.step()
            critic.requires_grad_(False)
            ours.zero_grad()  # GL204
            critic(batch[0], author(batch[0])).mean().backward()
            ours.step()
            critic.requires_grad_(True)
        """,
    "a manager of the project's own freezes": """
        class frozen:
            def __init__(self, net):
                self.net = net

            def __enter__(self):
                self.net.requires_grad_(False)

            def __exit__(self, *why):
                self.net.requires_grad_(True)

        author, critic = nn.Linear(8, 8), nn.Linear(8, 1)
        ours = torch.optim.Adam(author.parameters())
        theirs = torch.optim.Adam(critic.parameters())
        for noise, real in loader:
            theirs.zero_grad()  # GL204
            (critic(author(noise).detach()).mean() - critic(real).mean()).backward()
            theirs.step()
            ours.zero_grad()
            with frozen(critic):  # right only
                critic(author(noise)).mean().backward()  # right only
            critic(author(noise)).mean().backward()  # wrong only
            ours.step()
        """,
    "a generator of the project's own freezes": """
        from contextlib import contextmanager

        @contextmanager
        def frozen(net):
            net.requires_grad_(False)
            try:
                yield net
            finally:
                net.requires_grad_(True)

        author, critic = nn.Linear(8, 8), nn.Linear(8, 1)
        ours = torch.optim.Adam(author.parameters())
        theirs = torch.optim.Adam(critic.parameters())
        for noise, real in loader:
            theirs.zero_grad()  # GL204
            (critic(author(noise).detach()).mean() - critic(real).mean()).backward()
            theirs.step()
            ours.zero_grad()
            with frozen(critic):  # right only
                critic(author(noise)).mean().backward()  # right only
            critic(author(noise)).mean().backward()  # wrong only
            ours.step()
        """,
    "what one call reaches, another need not": """
        from elsewhere import objective

        def turn(net, other, one, x):
            one.zero_grad()  # GL204
            net(other(x)).mean().backward()  # wrong only
            objective(net, other).backward()  # right only
            one.step()

        left, right = nn.Linear(8, 8), nn.Linear(8, 8)
        ours, theirs = torch.optim.Adam(left.parameters()), torch.optim.Adam(right.parameters())
        for x, y in loader:
            turn(left, right, ours, x)
            turn(right, left, theirs, x)
        """,
    "indices have no gradients, whoever gives them": """
        from data import part_of

        critic = nn.Linear(3, 1)
        judge = torch.optim.SGD(critic.parameters(), lr=0.1)
        for x, y in loader:
            critic.requires_grad_(True)
            made, ids = model(x)  # right only
            made, others = model(x)  # wrong only
            real = part_of(y, ids)  # right only
            real = part_of(y, others)  # wrong only
            judge.zero_grad()
            (critic(made.detach()) - critic(real)).mean().backward()
            judge.step()
            critic.requires_grad_(False)
            optimizer.zero_grad()  # GL204
            critic(made).mean().backward()
            optimizer.step()
        """,
    "what an option throws away is not always thrown away": """
        from data import unrolled

        alphas = torch.zeros(3, requires_grad=True)
        architect = torch.optim.Adam([alphas])
        for x, y in loader:
            architect.zero_grad()
            if unrolled:  # right only
                alphas.grad = torch.autograd.grad(criterion(x @ alphas, y), alphas)[0]  # right only
            else:  # right only
                criterion(model(x) * alphas, y).backward()  # right only
            criterion(model(x) * alphas, y).backward()  # wrong only
            architect.step()
            optimizer.zero_grad()  # GL204
            criterion(model(x), y).backward()
            optimizer.step()
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
    "a net that is frozen while the graph is made": """
        def main(buffer):
            actor, critic = nn.Linear(4, 2), nn.Linear(6, 1)
            oa, oc = torch.optim.Adam(actor.parameters()), torch.optim.Adam(critic.parameters())
            for s, a, r in buffer:
                critic_loss = F.mse_loss(critic(torch.cat([s, a], 1)), r)
                oc.zero_grad()  # GL204
                critic_loss.backward()
                oc.step()
                critic.requires_grad_(False)  # right only
                pass  # wrong only
                actor_loss = -critic(torch.cat([s, actor(s)], 1)).mean()
                critic.requires_grad_(True)
                oa.zero_grad()
                actor_loss.backward()
                oa.step()
        """,
    "a manager that freezes while the graph is made": """
        class FreezeParameters:
            def __init__(self, modules):
                self.params = [p for m in modules for p in m.parameters()]

            def __enter__(self):
                for p in self.params:
                    p.requires_grad = False  # right only
                    p.requires_grad = True  # wrong only

            def __exit__(self, *exc):
                for p in self.params:
                    p.requires_grad = True

        def main(buffer):
            actor, critic = nn.Linear(4, 2), nn.Linear(6, 1)
            oa, oc = torch.optim.Adam(actor.parameters()), torch.optim.Adam(critic.parameters())
            for s, a, r in buffer:
                with FreezeParameters([critic]):
                    actor_loss = -critic(torch.cat([s, actor(s)], 1)).mean()
                oa.zero_grad()
                actor_loss.backward()
                oa.step()
                critic_loss = F.mse_loss(critic(torch.cat([s, a], 1)), r)
                oc.zero_grad()  # GL204
                critic_loss.backward()
                oc.step()
        """,
    "a manager of its own round no_grad": """
        import contextlib

        @contextlib.contextmanager
        def eval_mode(net):
            net.eval()
            with torch.no_grad():
                yield
            net.train()

        def main(loader):
            G, D = nn.Linear(8, 4), nn.Linear(4, 1)
            og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
            for x in loader:
                z = torch.randn(len(x), 8)
                with eval_mode(G):  # right only
                if True:  # wrong only
                    fake = G(z)
                od.zero_grad()
                (D(fake).mean() - D(x).mean()).backward()
                od.step()
                og.zero_grad()  # GL204
                (-D(G(z)).mean()).backward(inputs=list(G.parameters()))
                og.step()
        """,
    "no_grad that a stack enters": """
        import contextlib

        def main(loader):
            G, D = nn.Linear(8, 4), nn.Linear(4, 1)
            og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
            for x in loader:
                z = torch.randn(len(x), 8)
                with contextlib.ExitStack() as stack:
                    stack.enter_context(torch.no_grad())  # right only
                    pass  # wrong only
                    fake = G(z)
                od.zero_grad()
                (D(fake).mean() - D(x).mean()).backward()
                od.step()
                og.zero_grad()  # GL204
                (-D(G(z)).mean()).backward(inputs=list(G.parameters()))
                og.step()
        """,
    "a net that is free again only in its own turns": """
        def main(loader, every=5):
            G, D = nn.Linear(8, 4), nn.Linear(4, 1)
            og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
            for i, x in enumerate(loader):
                od.zero_grad()
                (D(G(torch.randn(len(x), 8))).mean() - D(x).mean()).backward()
                od.step()
                if i % every == every - 1:
                    D.requires_grad_(False)
                    G.requires_grad_(True)
                    og.zero_grad()  # GL204
                    (-D(G(torch.randn(len(x), 8))).mean()).backward()
                    og.step()
                    D.requires_grad_(True)
                    G.requires_grad_(False)  # right only
        """,
    "a whole net, or a part of it": """
        from elsewhere import make_net

        def loaded(options, net, optimizer=None):
            state = torch.load(options.path)
            if options.training:
                return net, state
            return net.denoiser, state

        def main(options, loader):
            net = make_net(options)  # right only
            net = nn.ModuleDict()  # wrong only
            net.denoiser, net.critic = nn.Linear(8, 8), nn.Linear(8, 1)  # wrong only
            one = torch.optim.Adam(net.denoiser.parameters())
            other = torch.optim.Adam(net.critic.parameters())
            net, _ = loaded(options, net)  # right only
            for x, y in loader:
                other.zero_grad()
                net.critic_loss(x, y).backward()  # right only
                net.critic(net.denoiser(x)).mean().backward()  # wrong only
                other.step()
                one.zero_grad()  # GL204
                net.denoising_loss(x, y).backward()
                one.step()
        """,
    "what is None is not true": """
        def train(loader, options):
            body, poses = nn.Linear(8, 3), nn.Linear(8, 8)
            ours = torch.optim.Adam(body.parameters())
            theirs = torch.optim.Adam(poses.parameters())
            for x, y in loader:
                ours.zero_grad()
                if (options.refine or options.path) and options.path is None:
                    theirs.zero_grad()  # GL204
                    x = x + poses(x)
                criterion(body(x), y).backward()
                ours.step()
                if options.refine:  # right only
                if options.path:  # wrong only
                    theirs.step()
        """,
    "what is None is not true, in a file of options, too": """
        import json

        def train(loader, file):
            body, poses = nn.Linear(8, 3), nn.Linear(8, 8)
            ours = torch.optim.Adam(body.parameters())
            theirs = torch.optim.Adam(poses.parameters())
            options = json.load(file)
            for x, y in loader:
                ours.zero_grad()
                if (options["refine"] or options["path"]) and options["path"] is None:
                    theirs.zero_grad()  # GL204
                    x = x + poses(x)
                criterion(body(x), y).backward()
                ours.step()
                if options["refine"]:  # right only
                if options["path"]:  # wrong only
                    theirs.step()
        """,
    "what is equal to one is equal to no other": """
        def train(loader, options):
            body, poses = nn.Linear(8, 3), nn.Linear(8, 8)
            ours = torch.optim.Adam(body.parameters())
            theirs = torch.optim.Adam(poses.parameters())
            for x, y in loader:
                ours.zero_grad()
                if options.kind == "whole":
                    theirs.zero_grad()  # GL204
                    x = x + poses(x)
                criterion(body(x), y).backward()
                ours.step()
                if options.kind != "part":  # right only
                if options.kind == "part":  # wrong only
                    theirs.step()
        """,
    "labels that a model draws in eval mode have no graph": """
        class Labels(nn.Module):
            def __init__(self):
                super().__init__()
                self.score = nn.Linear(8, 3)

            def forward(self, x):
                chances = self.score(x).softmax(-1)
                if self.training:
                    return chances
                return torch.multinomial(chances, 1).reshape(-1)

        def train(loader, labels, head):
            labels, head = Labels(), nn.Linear(8, 3)
            ours = torch.optim.Adam(labels.parameters())
            theirs = torch.optim.Adam(head.parameters())
            for x, y in loader:
                labels.train()
                ours.zero_grad()  # GL204
                criterion(labels(x), y).backward()
                ours.step()
                labels.eval()  # right only
                theirs.zero_grad()
                criterion(head(x), labels(x)).backward()
                theirs.step()
        """,
    "a function out of the loop tells a model to train again": """
        def begin(net):
            net.train()

        class Labels(nn.Module):
            def __init__(self):
                super().__init__()
                self.score = nn.Linear(8, 3)

            def forward(self, x):
                return self.score(x) if self.training else self.score(x).argmax(-1)

        def train(loader, labels, head):
            labels, head = Labels(), nn.Linear(8, 3)
            ours = torch.optim.Adam(labels.parameters())
            theirs = torch.optim.Adam(head.parameters())
            labels.train(False)
            for x, y in loader:
                begin(labels)
                ours.zero_grad()  # GL204
                criterion(labels(x), y).backward()
                ours.step()
                theirs.zero_grad()
                labels.train(False)  # right only
                criterion(head(x), labels(x)).backward()
                theirs.step()
        """,
    "whole numbers have no graph": """
        def train(loader):
            labels, head = nn.Linear(8, 3), nn.Linear(8, 3)
            ours = torch.optim.Adam(labels.parameters())
            theirs = torch.optim.Adam(head.parameters())
            for x, y in loader:
                ours.zero_grad()  # GL204
                criterion(labels(x), y).backward()
                ours.step()
                theirs.zero_grad()
                target = labels(x).to(torch.long)  # right only
                target = labels(x).to(torch.float64)  # wrong only
                criterion(head(x), target).backward()
                theirs.step()
        """,
}

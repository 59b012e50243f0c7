"""Nets that are trained against each other, in turns that loops and classes keep apart: GL204."""

from __future__ import annotations

TWINS = {
    "nets that a caller's recipes make": """
        class Game:
            def __init__(self, author, critic):
                self.author = author
                self.critic = critic

            def play(self, loader):
                author, critic = self.author(), self.critic()
                ours = torch.optim.Adam(author.parameters())
                theirs = torch.optim.Adam(critic.parameters())
                for x in loader:
                    critic.zero_grad()
                    fake = author(x)
                    fake = fake.detach()  # right only
                    (critic(fake).mean() - critic(x).mean()).backward()
                    theirs.step()
                    author.zero_grad()  # GL204
                    loss = -critic(author(x)).mean()
                    loss.backward(inputs=list(author.parameters()))
                    ours.step()
        """,
    "a critic's turn that may come no time still drops what the author's left there": """
        author, critic = nn.Linear(8, 8), nn.Linear(8, 1)
        ours = torch.optim.Adam(author.parameters())
        theirs = torch.optim.Adam(critic.parameters())
        for epoch in range(epochs):
            for x, y in loader:
                for _ in range(epochs):
                    theirs.zero_grad()  # GL204
                    (critic(author(x).detach()).mean() - critic(x).mean()).backward()
                    theirs.step()
                critic.requires_grad_(False)  # right only
                ours.zero_grad()
                critic(author(x)).mean().backward()
                ours.step()
                critic.requires_grad_(True)  # right only
        """,
    "an author's turn that comes now and then": """
        author, critic = nn.Linear(8, 8), nn.Linear(8, 1)
        ours = torch.optim.Adam(author.parameters())
        theirs = torch.optim.Adam(critic.parameters())
        for i, (x, y) in enumerate(loader):
            theirs.zero_grad()  # GL204
            (critic(author(x).detach()).mean() - critic(x).mean()).backward()
            theirs.step()
            if i % 5 == 0:
                ours.zero_grad()
                loss = critic(author(x)).mean()
                loss.backward(inputs=list(author.parameters()))  # right only
                loss.backward()  # wrong only
                ours.step()
        """,
    "a method of which each call is one turn": """
        class Agent:
            def __init__(self, actor, critic):
                self.actor, self.critic = actor, critic
                self.ours = torch.optim.Adam(self.actor.parameters())
                self.theirs = torch.optim.Adam(self.critic.parameters())

            def update(self, x, y):
                self.theirs.zero_grad()  # GL204
                (self.critic(x) - y).square().mean().backward()
                self.theirs.step()
                for weight in self.critic.parameters():  # right only
                    weight.requires_grad = False  # right only
                loss = -self.critic(self.actor(x)).mean()
                self.ours.zero_grad()
                loss.backward()
                self.ours.step()
                for weight in self.critic.parameters():  # right only
                    weight.requires_grad = True  # right only
        """,
    "methods that take turns, called by somebody out of sight": """
        class Adversaries:
            def __init__(self):
                self.author, self.critic = nn.Linear(8, 8), nn.Linear(8, 1)
                self.ours = torch.optim.Adam(self.author.parameters())
                self.theirs = torch.optim.Adam(self.critic.parameters())

            def criticize(self, x):
                self.theirs.zero_grad()
                fake = self.author(x)
                fake = fake.detach()  # right only
                (self.critic(fake).mean() - self.critic(x).mean()).backward()
                self.theirs.step()

            def write(self, x):
                self.ours.zero_grad()  # GL204
                loss = -self.critic(self.author(x)).mean()
                loss.backward(inputs=list(self.author.parameters()))
                self.ours.step()
        """,
    "a net that has no gradients while it is called, and gets them back before the backward": """
        author, critic = nn.Linear(8, 8), nn.Linear(8, 1)
        ours = torch.optim.Adam(author.parameters())
        theirs = torch.optim.Adam(critic.parameters())
        for x, y in loader:
            theirs.zero_grad()  # GL204
            (critic(author(x).detach()).mean() - critic(x).mean()).backward()
            theirs.step()
            for weight in critic.parameters():  # right only
                weight.requires_grad = False  # right only
            loss = critic(author(x)).mean()
            for weight in critic.parameters():  # right only
                weight.requires_grad = True  # right only
            ours.zero_grad()
            loss.backward()
            ours.step()
        """,
    "a graph that is kept for the other's turn": """
        author, critic = nn.Linear(8, 8), nn.Linear(8, 1)
        ours = torch.optim.Adam(author.parameters())
        theirs = torch.optim.Adam(critic.parameters())
        for x, y in loader:
            fake = author(x)
            theirs.zero_grad()
            loss = critic(fake).mean() - critic(x).mean()
            loss.backward(retain_graph=True, inputs=list(critic.parameters()))  # right only
            loss.backward(retain_graph=True)  # wrong only
            theirs.step()
            ours.zero_grad()  # GL204
            critic(fake).mean().backward(inputs=list(author.parameters()))
            ours.step()
        """,
    "a loss that a method computes, with a net that it is given": """
        class Agent:
            def __init__(self, actor, critic):
                self.actor, self.critic = actor, critic
                self.ours = torch.optim.Adam(self.actor.parameters())
                self.theirs = torch.optim.Adam(self.critic.parameters())

            def judged_loss(self, judge, x):
                action = self.actor(x)
                print(action.shape)
                return -judge(action).mean()

            def update(self, x, y):
                self.theirs.zero_grad()  # GL204
                (self.critic(x) - y).square().mean().backward()
                self.theirs.step()
                self.critic.requires_grad_(False)  # right only
                loss = self.judged_loss(self.critic, x)
                self.ours.zero_grad()
                loss.backward()
                self.ours.step()
                self.critic.requires_grad_(True)  # right only
        """,
    "a net whose forward is called by its name": """
        class Judge(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 1)

            def forward(self, x):
                return self.line(x), x.shape

        author, critic = nn.Linear(8, 8), Judge()
        ours = torch.optim.Adam(author.parameters())
        theirs = torch.optim.Adam(critic.parameters())
        for x, y in loader:
            theirs.zero_grad()  # GL204
            score, _ = critic.forward(x)
            score.mean().backward()
            theirs.step()
            score, _ = critic.forward(author(x))
            ours.zero_grad()
            score.mean().backward(inputs=list(author.parameters()))  # right only
            score.mean().backward()  # wrong only
            ours.step()
        """,
    "a net that is called by another method than its forward": """
        class Judge(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 1)
                self.other = nn.Linear(8, 1)

            def forward(self, x):
                return self.line(x), self.other(x)

            def first(self, x):
                return self.line(x)

        author, critic = nn.Linear(8, 8), Judge()
        ours = torch.optim.Adam(author.parameters())
        theirs = torch.optim.Adam(critic.parameters())
        for x, y in loader:
            theirs.zero_grad()  # GL204
            one, other = critic(x)
            (one - other).mean().backward()
            theirs.step()
            loss = critic.first(author(x)).mean()
            ours.zero_grad()
            loss.backward(inputs=list(author.parameters()))  # right only
            loss.backward()  # wrong only
            ours.step()
        """,
    "a pool of images hands them out without their graph": """
        from pools import ImagePool

        author, critic, pool = nn.Linear(8, 8), nn.Linear(8, 1), ImagePool(50)
        ours = torch.optim.Adam(author.parameters())
        theirs = torch.optim.Adam(critic.parameters())
        for x, y in loader:
            fake = author(x)
            ours.zero_grad()  # GL204
            (fake - x).abs().mean().backward()
            ours.step()
            fake = author(x)
            fake = pool.query(fake)  # right only
            theirs.zero_grad()
            (critic(fake).mean() - critic(x).mean()).backward()
            theirs.step()
        """,
    "turns that a counter tells apart come once each": """
        judge = nn.Linear(3, 1)
        spender = torch.optim.SGD(judge.parameters(), lr=0.1)
        for x, y in loader:
            optimizer.zero_grad()
            spender.zero_grad()
            out = model(x)
            for turn in range(2):
                if turn == 0:
                    judge.requires_grad_(False)  # right only
                    (-judge(out).mean()).backward()
                    optimizer.step()
                if turn == 1:
                    judge.requires_grad_(True)  # right only
                    (judge(out.detach()).mean() - judge(y).mean()).backward()
                    spender.step()  # GL102
        """,
}

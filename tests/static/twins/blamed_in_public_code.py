"""Right programs that were blamed in a reading of public code, and faults that look like them."""

from __future__ import annotations

TWO_NETS = """
        G, D = nn.Linear(4, 8), nn.Linear(8, 1)
        g_optimizer = torch.optim.Adam(G.parameters())
        d_optimizer = torch.optim.Adam(D.parameters())
"""
"""A generator, a discriminator, and an optimizer for each."""

TWINS = {
    "a bare leaf and its optimizer are made anew in each round": """
        w = torch.zeros(3, requires_grad=True)  # wrong only
        refiner = torch.optim.SGD([w], lr=0.1)  # wrong only
        for x, y in loader:
            w = torch.zeros(3, requires_grad=True)  # right only
            refiner = torch.optim.SGD([w], lr=0.1)  # right only
            loss = F.mse_loss(model(x).detach() + w, y)
            loss.backward()
            refiner.step()  # GL101
        """,
    "a leaf and its optimizer are made anew in each call": """
        def refine(w, refiner):
            torch.norm(w).backward()
            refiner.step()  # GL101

        def main(states):
            w = torch.stack(states).requires_grad_(True)  # wrong only
            refiner = torch.optim.SGD([w], lr=0.1)  # wrong only
            for epoch in range(epochs):
                w = torch.stack(states).requires_grad_(True)  # right only
                refiner = torch.optim.SGD([w], lr=0.1)  # right only
                refine(w, refiner)
        """,
    "a method makes a leaf and its optimizer anew": """
        class Server:
            def __init__(self):  # wrong only
                self.w = torch.zeros(3, requires_grad=True)  # wrong only
                self.refiner = torch.optim.SGD([self.w], lr=0.1)  # wrong only

            def refine(self, states):
                w = torch.stack([s["w"] for s in states]).requires_grad_(True)  # right only
                refiner = torch.optim.SGD([w], lr=0.1)  # right only
                w, refiner = self.w, self.refiner  # wrong only
                torch.norm(w).backward()
                refiner.step()  # GL101

            def train(self):
                for epoch in range(epochs):
                    self.refine(self.states)
        """,
    "a conditional expression and a later if ask the same": """
        def train(amp):
            scaler = torch.amp.GradScaler()
            for x, y in loader:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                scaler.scale(loss).backward() if amp else loss.backward()
                if amp:
                    scaler.step(optimizer)  # right only
                    scaler.update()  # right only
                    optimizer.step()  # wrong only, GL402
                else:
                    optimizer.step()
        """,
    "a flag in an attribute of a base class is asked twice": """
        class Base:
            def __init__(self, amp):
                self.amp = amp
                self.scaler = torch.amp.GradScaler() if self.amp else None

            def step(self):
                if self.amp:
                    self.scaler.step(optimizer)  # right only
                    self.scaler.update()  # right only
                    optimizer.step()  # wrong only, GL402
                else:
                    optimizer.step()

        class Trainer(Base):
            def train(self):
                for x, y in loader:
                    optimizer.zero_grad()
                    loss = criterion(model(x), y)
                    self.scaler.scale(loss).backward() if self.amp else loss.backward()
                    self.step()

        def main(amp):
            Trainer(amp).train()
        """,
    "a scaler in an attribute is there or not, asked both ways": """
        class Trainer:
            def __init__(self, amp):
                self.scaler = None
                if amp:
                    self.scaler = torch.amp.GradScaler()

            def train(self):
                for x, y in loader:
                    optimizer.zero_grad()
                    loss = criterion(model(x), y)
                    if self.scaler is not None:
                        loss = self.scaler.scale(loss)
                    loss.backward()
                    if self.scaler is None:
                        optimizer.step()
                    else:
                        self.scaler.step(optimizer)  # right only
                        self.scaler.update()  # right only
                        optimizer.step()  # wrong only, GL402

        def main(amp):
            Trainer(amp).train()
        """,
    "arithmetic of data has no graph": """
        class Client:
            def __init__(self, other):
                self.other, self.alpha = other, torch.tensor(0.5)

            def update_alpha(self):
                total = 0
                for p, q in zip(model.parameters(), self.other.parameters()):
                    difference = (p.data - q.data).flatten()  # right only
                    difference = (p - q).flatten()  # wrong only
                    total += difference @ (self.alpha * p.grad.data).flatten()
                self.alpha.data -= 0.1 * total  # right only
                self.alpha = self.alpha - 0.1 * total  # wrong only, GL701

        client = Client(nn.Linear(8, 3))
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
            client.update_alpha()
        """,
    "a net is frozen outside its own turn": TWO_NETS
    + """
        def train_generator(z):
            G.requires_grad_(True)
            (-D(G(z)).mean()).backward()
            G.requires_grad_(False)  # right only
            g_optimizer.step()  # GL102
            g_optimizer.zero_grad()

        def train_discriminator(real):
            D.requires_grad_(True)
            (D(G(torch.randn(16, 4))).mean() - D(real).mean()).backward()
            D.requires_grad_(False)
            d_optimizer.step()
            d_optimizer.zero_grad()

        def main(kind):
            D.requires_grad_(False)
            for x, _ in loader:
                if kind == "normal":
                    train_generator(torch.randn(16, 4))
                elif kind == "uniform":
                    train_generator(torch.rand(16, 4))
                train_discriminator(x)
        """,
    "a module has buffers only": """
        class Warp(nn.Module):
            def __init__(self, size):
                super().__init__()
                grid = torch.stack(torch.meshgrid([torch.arange(0, s) for s in size]))
                self.register_buffer("grid", grid.float())  # right only
                self.grid = nn.Parameter(grid.float())  # wrong only

            def forward(self, x, flow):
                return F.grid_sample(x, self.grid + flow)

        warp = Warp((8, 8))
        learner = torch.optim.SGD(model.parameters(), lr=0.1)  # GL601
        for x, y in loader:
            learner.zero_grad()
            F.mse_loss(warp(x, model(x)), y).backward()
            learner.step()
        """,
    "what is left is stepped behind another counter": """
        n = 4
        for epoch in range(epochs):
            batches = 0
            for i, (x, y) in enumerate(loader):
                (criterion(model(x), y) / n).backward()  # GL203
                batches += 1
                if (i + 1) % n == 0:
                    optimizer.step()
                    optimizer.zero_grad()
            if batches % n != 0:  # right only
                optimizer.step()  # right only
                optimizer.zero_grad()  # right only
        """,
    "what is left is stepped in a try behind the loop": """
        n = 4
        for epoch in range(epochs):
            for i, (x, y) in enumerate(loader):
                (criterion(model(x), y) / n).backward()  # GL203
                if (i + 1) % n == 0:
                    optimizer.step()
                    optimizer.zero_grad()
            try:
                if len(loader) % n != 0:  # right only
                    optimizer.step()  # right only
                    optimizer.zero_grad()  # right only
                print(epoch)
            except Exception as problem:
                print(problem)
        """,
    "a joint loss has several optimizers by design": """
        encoder, generator = nn.Linear(8, 4), nn.Linear(4, 8)
        e_optimizer = torch.optim.Adam(encoder.parameters())
        g_optimizer = torch.optim.Adam(generator.parameters())
        for x, _ in loader:
            e_optimizer.zero_grad()  # right only
            g_optimizer.zero_grad()
            F.mse_loss(generator(encoder(x)), x).backward()
            noise = torch.randn(16, 4)
            F.mse_loss(encoder(generator(noise)), noise).backward()
            e_optimizer.step()  # GL101
            g_optimizer.step()
        """,
}
"""The first of a pair is silent; in the second the fault is found."""

WASTED = {
    "a loop that may have no round": (
        """
        body, head = nn.Linear(8, 8), nn.Linear(8, 3)
        b_optimizer = torch.optim.SGD(body.parameters(), lr=0.1)
        h_optimizer = torch.optim.SGD(head.parameters(), lr=0.1)

        def train(rounds):
            for x, y in loader:
                b_optimizer.zero_grad()
                h_optimizer.zero_grad()
                criterion(head(body(x)), y).backward()
                h_optimizer.step()
                for _ in range(rounds):
                    b_optimizer.zero_grad()
                    (-criterion(head(body(x)), y)).backward()
                    b_optimizer.step()
        """,
        "b_optimizer.zero_grad()\n        h_optimizer",
        "",
    ),
    "the loss under no_grad is not the one that fills the critic": (
        """
        actor, critic = nn.Linear(8, 2), nn.Linear(2, 1)
        log_alpha = torch.zeros(1, requires_grad=True)
        alpha_optimizer = torch.optim.Adam([log_alpha])
        actor_optimizer = torch.optim.Adam(actor.parameters())
        critic_optimizer = torch.optim.Adam(critic.parameters())
        for x, reward in loader:
            with torch.no_grad():
                entropy = critic(actor(x))
            alpha_optimizer.zero_grad()
            (-log_alpha * entropy).mean().backward()
            alpha_optimizer.step()
            actor_optimizer.zero_grad()
            (-critic(actor(x)).mean()).backward()
            actor_optimizer.step()
            critic_optimizer.zero_grad()
            F.mse_loss(critic(actor(x).detach()), reward).backward()
            critic_optimizer.step()
        """,
        "critic_optimizer.zero_grad()",
        "(-critic(actor(x)).mean()).backward()",
    ),
}
"""A program, the start of the clear in question, and the only backward that may be named: of the
first nothing may be said at that clear, of the second only the one that reaches the critic."""

"""What an exception leaves behind: GL902."""

from __future__ import annotations

TWINS = {
    "who ends the program on one branch goes on to the step on the other": """
        import sys

        def train(feeder, ranks):
            net = nn.Linear(8, 3)
            spender = torch.optim.SGD(net.parameters(), lr=0.1)
            while True:
                x, y = feeder.get()
                try:
                    loss = criterion(net(x), y)
                    spender.zero_grad()
                    loss.backward()
                except RuntimeError as error:
                    print(error)
                    if ranks > 1:
                        spender.zero_grad()
                        sys.exit(1)
                    continue  # right only
                spender.step()  # GL902
        """,
    "what an exception broke off belongs to a net that is gone": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 3)

            def forward(self, x):
                return self.layer(x)

        net = Net()  # wrong only
        spender = torch.optim.SGD(net.parameters(), lr=0.1)  # wrong only

        def fit(data):
            net = Net()  # right only
            spender = torch.optim.SGD(net.parameters(), lr=0.1)  # right only
            for x, y in data:
                criterion(net(x), y).backward()
                spender.step()  # GL902
                net.zero_grad()

        for seed in range(3):
            try:
                fit(loader)
            except ValueError as error:
                print(error)
        """,
    "who ends the program swallows no exception": """
        import sys

        for x, y in loader:
            loss = criterion(model(x), y)
            try:
                loss.backward()
                optimizer.step()  # GL902
                optimizer.zero_grad()
            except ValueError as error:
                print(error)
                sys.exit(1)  # right only
        """,
    "nor does who raises its end": """
        for x, y in loader:
            try:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
            except ValueError as error:
                raise SystemExit(1)  # right only
                print(error)  # wrong only
            optimizer.step()  # GL902
        """,
    "a flag tells that a batch has failed": """
        for x, y in loader:
            failed = False  # right only
            try:
                criterion(model(x), y).backward()
            except RuntimeError:
                failed = True  # right only
                print("out of memory")
            if failed:  # right only
                optimizer.zero_grad()  # right only
                continue  # right only
            optimizer.step()  # GL902
            optimizer.zero_grad()
        """,
    "a counter tells that a batch has failed, whichever side it is compared on": """
        for x, y in loader:
            good = 0
            try:
                criterion(model(x), y).backward()
                good += 1  # right only
            except RuntimeError:
                print("out of memory")
            if 1 > good:  # right only
                optimizer.zero_grad()  # right only
                continue  # right only
            optimizer.step()  # GL902
            optimizer.zero_grad()
        """,
    "a batch that has failed is done again from the start": """
        for x, y in loader:
            while True:
                try:
                    optimizer.zero_grad()  # right only
                    criterion(model(x), y).backward()
                except RuntimeError:
                    continue
                break
            optimizer.step()  # GL902
            optimizer.zero_grad()  # wrong only
        """,
    "finally clears, whatever has happened": """
        for x, y in loader:
            try:
                criterion(model(x), y).backward()
            except RuntimeError:
                print("out of memory")
            else:  # right only
                optimizer.step()  # right only
            finally:  # right only
                optimizer.zero_grad()  # right only
            optimizer.step()  # wrong only, GL902
            optimizer.zero_grad()  # wrong only
        """,
    "a helper that ends the program": """
        import logging
        import sys

        def fatal(err):
            logging.critical(err)
            sys.exit(1)

        def main(loader):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            for x, y in loader:
                try:
                    F.cross_entropy(net(x), y).backward()
                except RuntimeError as err:
                    fatal(err)  # right only
                    print(err)  # wrong only
                opt.step()  # GL902
                opt.zero_grad()
        """,
    "an assertion that always fails": """
        def main(loader):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            for x, y in loader:
                try:
                    F.cross_entropy(net(x), y).backward()
                except RuntimeError as err:
                    assert False, err  # right only
                    print(err)  # wrong only
                opt.step()  # GL902
                opt.zero_grad()
        """,
    "a counter that goes on whatever has failed takes no batch twice": """
        batches = [(torch.randn(4, 8), torch.randint(0, 3, (4,))) for _ in range(16)]
        taken = 0
        while taken < 16:
            x, y = batches[taken]
            taken += 1
            try:
                (criterion(model(x), y) / 4).backward()
            except RuntimeError as error:
                print(error)
                optimizer.zero_grad()  # right only
                taken += -taken % 4  # right only
                continue  # right only
            if taken % 4 == 0:
                optimizer.step()  # GL902
                optimizer.zero_grad()
        """,
    "a function tells how it went to one who asks": """
        def attempt(x, y, parts):
            try:
                (criterion(model(x), y) / parts).backward()
                return True
            except RuntimeError as error:
                print(error)
                return False

        for epoch in range(10):
            optimizer.zero_grad()
            good = 0
            for x, y in loader:
                good += attempt(x, y, len(loader))
            print(good)
            if good < len(loader):  # right only
                continue  # right only
            optimizer.step()  # GL902
        """,
    "a function that is told to nobody has failed at the end of its data": """
        def attempt(batches):
            try:
                x, y = next(batches)
                criterion(model(x), y).backward()
            except StopIteration:  # right only
                return None  # right only
            except RuntimeError:  # wrong only
                return None  # wrong only

        batches = iter(loader)
        for _ in range(100):
            optimizer.zero_grad()
            attempt(batches)
            optimizer.step()  # GL902
        """,
    "what is tried on a copy stays in the copy": """
        import copy

        def try_out(net):
            try:
                criterion(net(torch.zeros(4, 8)), torch.zeros(4).long()).backward()
            except RuntimeError as error:
                print(error)

        for x, y in loader:
            try_out(copy.deepcopy(model).train())  # right only
            try_out(model.train())  # wrong only
            criterion(model(x), y).backward()
            optimizer.step()  # GL902
            optimizer.zero_grad()
        """,
    "a net of its own that is tried holds nothing of the model's": """
        other = nn.Linear(8, 3)
        for x, y in loader:
            try:
                criterion(other(torch.zeros(4, 8)), torch.zeros(4).long()).backward()  # right only
                criterion(model(torch.zeros(4, 8)), torch.zeros(4).long()).backward()  # wrong only
            except RuntimeError as error:
                print(error)
            criterion(model(x), y).backward()
            optimizer.step()  # GL902
            optimizer.zero_grad()
        """,
    "what is tried before the training is no batch": """
        def try_out(net):
            try:
                criterion(net(torch.zeros(4, 8)), torch.zeros(4).long()).backward()
            except RuntimeError as error:
                print(error)

        try_out(model)  # right only
        for x, y in loader:
            try_out(model)  # wrong only
            criterion(model(x), y).backward()
            optimizer.step()  # GL902
            optimizer.zero_grad()
        """,
}

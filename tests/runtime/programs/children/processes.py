"""Two processes train each a model of its own; the second forgets to clear.

`processes.py fork` (as without a word), `spawn` or `forkserver`, or `pool` for a pool of both.
"""

import sys
from concurrent.futures import ProcessPoolExecutor

import torch
from torch import nn
from torch.multiprocessing import get_context


def train(number: int) -> float:
    torch.manual_seed(number)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3 + number):
        if number == 0:
            optimizer.zero_grad()
        model(torch.randn(3, 4)).square().mean().backward()
        optimizer.step()
    print(number, [p.tolist() for p in model.parameters()], flush=True)
    return model.weight.sum().item()


if __name__ == "__main__":
    way = sys.argv[1] if len(sys.argv) > 1 else "fork"
    if way == "pool":
        with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
            print(sorted(pool.map(train, range(2))))
    else:
        for number in range(2):
            process = get_context(way).Process(target=train, args=(number,))  # type: ignore[attr-defined]
            process.start()
            process.join()
            print(process.exitcode)

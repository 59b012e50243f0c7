"""One thread walks back; meanwhile the other, which clears by hand, draws the next batch."""
# mypy: ignore-errors

import threading
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(40, 4), torch.randn(40, 1)), batch_size=4)
first, last = nn.Linear(4, 8), nn.Linear(8, 1)
parameters = [*first.parameters(), *last.parameters()]
optimizer = torch.optim.SGD(parameters, lr=0.05)
busy, half_way, drawn = [], [], threading.Event()


def pause(_: torch.Tensor) -> None:
    half_way.append(True)
    drawn.wait()


def work(loss: torch.Tensor) -> None:
    while not busy:
        time.sleep(0)
    loss.backward()


batches = iter(loader)
batch = next(batches)
while batch is not None:
    inputs, targets = batch
    hidden = first(inputs)
    hidden.register_hook(pause)
    loss = nn.functional.mse_loss(last(torch.tanh(hidden)), targets)
    thread = threading.Thread(target=work, args=(loss,))
    thread.start()
    busy.append(True)
    while not half_way:  # the gradients of the last layer are there by then
        time.sleep(0)
    batch = next(batches, None)
    half_way.clear()
    busy.clear()
    drawn.set()
    thread.join()
    drawn.clear()
    optimizer.step()
    for parameter in parameters:
        parameter.grad.zero_()

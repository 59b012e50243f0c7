"""The sampler begins again for ever, as in yolov5; the last window of an epoch is short."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(80, 4)
data = TensorDataset(x, x.sum(dim=1, keepdim=True))


class RepeatSampler:
    def __init__(self, sampler) -> None:  # noqa: ANN001
        self.sampler = sampler

    def __iter__(self):  # noqa: ANN204
        while True:
            yield from iter(self.sampler)


class InfiniteDataLoader(DataLoader):
    def __init__(self, *args, **kwargs) -> None:  # noqa: ANN002, ANN003
        super().__init__(*args, **kwargs)
        object.__setattr__(self, "batch_sampler", RepeatSampler(self.batch_sampler))
        self.iterator = super().__iter__()

    def __len__(self) -> int:
        return len(self.batch_sampler.sampler)

    def __iter__(self):  # noqa: ANN204
        for _ in range(len(self)):
            yield next(self.iterator)


loader = InfiniteDataLoader(data, batch_size=8)  # 10 batches
model = nn.Linear(4, 1)
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
tail = len(loader) % 4

for _epoch in range(3):
    optimizer.zero_grad()
    for i, (inputs, targets) in enumerate(loader):
        size = tail if i >= len(loader) - tail else 4
        (loss_fn(model(inputs), targets) / size).backward()
        if (i + 1) % 4 == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()

"""A training whose loaders have workers. `workers_that_do_not_train.py fork` or `spawn`."""

import sys

import torch
from torch.utils.data import DataLoader, Dataset


class Loaded(Dataset[torch.Tensor]):
    """Each item says which modules of the auditor its worker has."""

    def __getitem__(self, item: int) -> torch.Tensor:
        auditor = sys.modules.get("gradledger.runtime.audit")
        patched = getattr(torch.autograd.grad, "__wrapped__", None) is not None
        return torch.tensor([float(auditor is not None), float(patched)])

    def __len__(self) -> int:
        return 8


if __name__ == "__main__":
    way = sys.argv[1]
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    loader = DataLoader(Loaded(), 2, num_workers=2, multiprocessing_context=way)
    total = torch.zeros(2)
    for batch in loader:
        optimizer.zero_grad()
        (weight * (1 + batch)).sum().backward()
        optimizer.step()
        total += batch.sum(0)
    print("loaded, patched:", total.tolist())

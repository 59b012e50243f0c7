"""Each batch takes one of two branches; the other has no gradient at all, and does not move."""
# mypy: ignore-errors

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Switch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.branches = nn.ModuleDict({"even": nn.Linear(4, 8), "odd": nn.Linear(4, 8)})
        self.head = nn.Linear(8, 1)

    def forward(self, x: Tensor, branch: str) -> Tensor:
        return self.head(torch.relu(self.branches[branch](x)))


x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8, shuffle=True)
model = Switch()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)

for _epoch in range(3):
    for i, (inputs, targets) in enumerate(loader):
        optimizer.zero_grad(set_to_none=True)
        prediction = model(inputs, "odd" if i % 2 else "even")
        nn.functional.mse_loss(prediction, targets).backward()
        optimizer.step()

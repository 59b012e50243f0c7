"""Ten batches in windows of four: the last two leak into the next epoch."""
# mypy: ignore-errors

import lightning
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


class Regression(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.net = nn.Linear(4, 1)

    def training_step(self, batch: list[Tensor], batch_idx: int) -> None:
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x), y)
        self.manual_backward(loss / 4)  # GL203: two of ten batches are left over
        if (batch_idx + 1) % 4 == 0:
            optimizer = self.optimizers()
            optimizer.step()
            optimizer.zero_grad()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.05)


lightning.seed_everything(0, verbose=False)
x = torch.randn(80, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8)  # 10 batches
trainer = lightning.Trainer(
    max_epochs=2,
    accelerator="cpu",
    devices=1,
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(Regression(), loader)

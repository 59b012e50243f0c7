"""Lightning owns the cycle: windows of four, clipping, a scheduler per step, validation."""
# mypy: ignore-errors

import lightning
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


class Regression(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))

    def training_step(self, batch: list[Tensor], batch_idx: int) -> Tensor:
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch: list[Tensor], batch_idx: int) -> None:
        x, y = batch
        self.log("val_loss", nn.functional.mse_loss(self.net(x), y))

    def configure_optimizers(self) -> dict:
        optimizer = torch.optim.AdamW(self.parameters(), lr=0.01)
        scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=4)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": scheduler, "interval": "step"},
        }


lightning.seed_everything(0, verbose=False)
x = torch.randn(80, 4)
y = x.sum(dim=1, keepdim=True)
trainer = lightning.Trainer(
    max_epochs=2,
    accelerator="cpu",
    devices=1,
    accumulate_grad_batches=4,
    gradient_clip_val=1.0,
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(
    Regression(),
    DataLoader(TensorDataset(x[:64], y[:64]), batch_size=8, shuffle=True),  # 8 batches
    DataLoader(TensorDataset(x[64:], y[64:]), batch_size=8),
)

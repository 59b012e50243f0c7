"""Lightning in bf16, with a norm logged by a hook of the module."""
# mypy: ignore-errors

import lightning
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))

    def training_step(self, batch: list[Tensor], batch_idx: int) -> Tensor:
        x, y = batch
        return nn.functional.cross_entropy(self.net(x), y)

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        norms = lightning.pytorch.utilities.grad_norm(self.net, norm_type=2)
        self.log_dict(norms)

    def configure_optimizers(self) -> tuple[list, list]:
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, step_size=1)]


lightning.seed_everything(0, verbose=False)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=16, shuffle=True)
trainer = lightning.Trainer(
    max_epochs=2,
    accelerator="cpu",
    devices=1,
    precision="bf16-mixed",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(Classifier(), loader)

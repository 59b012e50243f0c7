"""A GAN in manual optimisation: each optimizer is toggled for its turn."""
# mypy: ignore-errors

import lightning
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


class GAN(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.generator = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
        self.discriminator = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(), nn.Linear(8, 1))

    def training_step(self, batch: list[Tensor], batch_idx: int) -> None:
        (real,) = batch
        bce = nn.functional.binary_cross_entropy_with_logits
        opt_g, opt_d = self.optimizers()
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)

        self.toggle_optimizer(opt_g)
        fake = self.generator(torch.randn(len(real), 3))
        self.manual_backward(bce(self.discriminator(fake), ones))
        opt_g.step()
        opt_g.zero_grad()
        self.untoggle_optimizer(opt_g)

        self.toggle_optimizer(opt_d)
        real_loss = bce(self.discriminator(real), ones)
        fake_loss = bce(self.discriminator(fake.detach()), zeros)
        self.manual_backward((real_loss + fake_loss) / 2)
        self.clip_gradients(opt_d, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
        opt_d.step()
        opt_d.zero_grad()
        self.untoggle_optimizer(opt_d)

    def configure_optimizers(self) -> list[torch.optim.Optimizer]:
        return [
            torch.optim.Adam(self.generator.parameters(), lr=1e-3),
            torch.optim.Adam(self.discriminator.parameters(), lr=1e-3),
        ]


lightning.seed_everything(0, verbose=False)
loader = DataLoader(TensorDataset(torch.randn(64, 2) + 2), batch_size=16, shuffle=True)
trainer = lightning.Trainer(
    max_epochs=2,
    accelerator="cpu",
    devices=1,
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(GAN(), loader)

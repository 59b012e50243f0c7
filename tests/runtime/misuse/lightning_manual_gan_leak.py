"""No toggle, and the discriminator is cleared after its step: the generator's loss leaks in."""
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

        fake = self.generator(torch.randn(len(real), 3))
        self.manual_backward(bce(self.discriminator(fake), ones))
        opt_g.step()
        opt_g.zero_grad()

        real_loss = bce(self.discriminator(real), ones)
        fake_loss = bce(self.discriminator(fake.detach()), zeros)
        self.manual_backward((real_loss + fake_loss) / 2)
        opt_d.step()  # GL102: also spends what the generator's loss left in the discriminator
        opt_d.zero_grad()

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

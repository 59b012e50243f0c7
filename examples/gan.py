"""A GAN: two nets and two Steppers. The loss of one leaves nothing behind in the other.

The discriminator learns from every batch, the generator from every second one.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from gradledger import Stepper

torch.manual_seed(0)

# what the generator is to imitate: mean 4, standard deviation 1.25
numbers = 4.0 + 1.25 * torch.randn(1000, 1)
loader = DataLoader(TensorDataset(numbers), batch_size=64, shuffle=True)

generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
discriminator = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-2, betas=(0.5, 0.999))
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=1e-2, betas=(0.5, 0.999))
stepper_g = Stepper(generator, optimizer_g)
stepper_d = Stepper(discriminator, optimizer_d)


@torch.no_grad()
def report(when: str) -> None:
    """What the generator draws."""
    drawn = generator(torch.randn(2000, 4))
    print(f"{when}: mean {drawn.mean():.2f}, standard deviation {drawn.std():.2f}")


report("generated, before")
for _ in range(10):
    # both draw the same batches: inside, the net that learns from every one of them
    for i, (real,) in enumerate(stepper_g.over(stepper_d.over(loader))):
        fake = generator(torch.randn(len(real), 4))
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)

        # two losses of one micro-batch add up
        stepper_d.backward(criterion(discriminator(real), ones), items=len(real), more=True)
        stepper_d.backward(criterion(discriminator(fake.detach()), zeros), items=len(real))

        # this one goes back through the discriminator, but deposits in the generator only
        if i % 2 == 1:
            stepper_g.backward(criterion(discriminator(fake), ones), items=len(real))
report("generated, after ")
print(f"real numbers:      mean {numbers.mean():.2f}, standard deviation {numbers.std():.2f}")
print(f"updates: discriminator {stepper_d.updates}, generator {stepper_g.updates}")

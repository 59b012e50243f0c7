"""Truncated backpropagation through time: one long series, read in chunks by an LSTM.

The state goes on from chunk to chunk, its graph does not. A window spans two chunks.
"""

import torch
from torch import Tensor, nn

from gradledger import Stepper

torch.manual_seed(0)

# eight recordings of two slow waves that beat against each other, and some noise
time = torch.arange(401) / 6
phase = 6.28 * torch.rand(8, 1)
waves = torch.sin(time + phase) * torch.sin(0.3 * time) + 0.02 * torch.randn(8, len(time))
waves = waves.unsqueeze(2)
now, coming = waves[:, :-1], waves[:, 1:]
chunks = list(zip(now.chunk(16, dim=1), coming.chunk(16, dim=1), strict=True))


class Model(nn.Module):
    """Foretells the next value from all that it has read."""

    def __init__(self) -> None:
        super().__init__()
        self.read = nn.LSTM(1, 24, batch_first=True)
        self.tell = nn.Linear(24, 1)

    def forward(
        self, x: Tensor, state: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """What comes next, and what it remembers."""
        read, state = self.read(x, state)
        return x + self.tell(read), state


model = Model()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
stepper = Stepper(model, optimizer, accumulate=2, clip_norm=1.0)

for epoch in range(10):
    total = 0.0
    state = None  # each pass begins at the beginning of the recordings
    for x, y in stepper.over(chunks):
        told, state = model(x, state)
        loss = criterion(told, y)
        stepper.backward(loss, items=y.numel())
        state = stepper.detach(state)  # the tuple of an LSTM, or whatever a state may be
        total += loss.item()
    if epoch % 9 == 0:
        print(f"epoch {epoch + 1}: error {total / len(chunks):.5f}")

print(f"always to say 'as it is now': {criterion(now, coming):.5f}")
print(f"{stepper.updates} updates: {len(chunks)} chunks an epoch, two in a window")

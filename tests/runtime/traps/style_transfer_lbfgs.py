"""Style transfer as the tutorials do it: LBFGS on the image, a closure, a frozen network."""
# mypy: ignore-errors

import torch
from torch import Tensor, nn

torch.manual_seed(0)
features = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.Tanh()).eval().requires_grad_(False)
content = torch.rand(1, 3, 8, 8)
wanted = features(content)
image = torch.rand(1, 3, 8, 8).requires_grad_(True)
optimizer = torch.optim.LBFGS([image])
run = [0]

while run[0] <= 30:

    def closure() -> Tensor:
        with torch.no_grad():
            image.clamp_(0, 1)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(features(image), wanted)
        loss.backward()
        run[0] += 1
        return loss

    optimizer.step(closure)

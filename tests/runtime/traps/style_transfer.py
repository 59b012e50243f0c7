"""The image is the parameter; the network only measures, and nobody steps or clears it."""
# mypy: ignore-errors

import torch
from torch import Tensor, nn

torch.manual_seed(0)
features = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 6, 3, padding=1))
content, style = torch.rand(1, 3, 8, 8), torch.rand(1, 3, 8, 8)


def gram(maps: Tensor) -> Tensor:
    flat = maps.flatten(2)[0]
    return flat @ flat.T / flat.numel()


with torch.no_grad():
    wanted_content, wanted_style = features(content), gram(features(style))

image = content.clone().requires_grad_(True)
optimizer = torch.optim.Adam([image], lr=0.02)

for _iteration in range(15):
    optimizer.zero_grad()
    maps = features(image)
    content_loss = nn.functional.mse_loss(maps, wanted_content)
    style_loss = nn.functional.mse_loss(gram(maps), wanted_style)
    (content_loss + 100 * style_loss).backward()
    optimizer.step()
    with torch.no_grad():
        image.clamp_(0, 1)

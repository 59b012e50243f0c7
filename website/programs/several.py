import torch
from torch import nn

torch.manual_seed(0)
generator, discriminator = nn.Linear(2, 2), nn.Linear(2, 1)
noise, real = torch.randn(16, 2), torch.randn(16, 2)


def norm(net):
    found = [p.grad.norm() for p in net.parameters() if p.grad is not None]
    return f"{torch.stack(found).norm():.3f}" if found else "None"


def report(what):
    print(f"{what:50} generator {norm(generator):6} discriminator {norm(discriminator)}")


def clear():
    generator.zero_grad()
    discriminator.zero_grad()


loss_a, loss_b = discriminator(real).mean(), discriminator(real).square().mean()
loss_a.backward()
loss_b.backward()
two = discriminator.weight.grad.clone()
clear()
(discriminator(real).mean() + discriminator(real).square().mean()).backward()
print("two backward passes equal one of the sum:", torch.allclose(two, discriminator.weight.grad))

clear()
discriminator(generator(noise)).mean().backward()
report("the generator's loss deposits in both")
clear()
discriminator(generator(noise).detach()).mean().backward()
report("with detach(), the discriminator's stays there")
clear()
discriminator.requires_grad_(False)
discriminator(generator(noise)).mean().backward()
report("with a frozen discriminator, the generator's does")
discriminator.requires_grad_(True)
clear()
discriminator(generator(noise)).mean().backward(inputs=list(generator.parameters()))
report("so it does with inputs=")


def frozen(clear):
    """How far one more step moves a layer that was frozen after a step."""
    layer = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
    layer(noise).square().mean().backward()
    optimizer.step()
    layer.requires_grad_(False)
    clear(optimizer)
    before = layer.weight.clone()
    optimizer.step()
    return (layer.weight - before).abs().max().item()


print(f"frozen, the old gradient still there:   moves by {frozen(lambda optimizer: None):.3f}")
to_zeros = frozen(lambda optimizer: optimizer.zero_grad(set_to_none=False))
print(f"frozen, the old gradient set to zeros:  moves by {to_zeros:.3f}")
to_none = frozen(lambda optimizer: optimizer.zero_grad())
print(f"frozen, the old gradient set to None:   moves by {to_none:.3f}")

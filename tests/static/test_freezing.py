"""The ways in which a net is frozen, and thawed again."""

from __future__ import annotations

from tests.static.programs import ONE_NET, check, each, shown

TWO_NETS = """
author, critic = nn.Linear(8, 8), nn.Linear(8, 1)
ours = torch.optim.Adam(author.parameters())
theirs = torch.optim.Adam(critic.parameters())

"""

FREEZING = {
    "a loop over all its parts": (
        "for part in critic.modules():\n    part.requires_grad_(True)",
        "for part in critic.modules():\n    part.requires_grad_(False)",
    ),
    "a function that is applied to them": ("critic.apply(thaw)", "critic.apply(freeze)"),
    "a map": (
        "list(map(lambda p: p.requires_grad_(True), critic.parameters()))",
        "list(map(lambda p: p.requires_grad_(False), critic.parameters()))",
    ),
    "parameters that a function gives": (
        "for p in all_of(critic):\n    p.requires_grad = True",
        "for p in all_of(critic):\n    p.requires_grad = False",
    ),
    "an attribute by its name": (
        "for p in critic.parameters():\n    setattr(p, 'requires_grad', True)",
        "for p in critic.parameters():\n    setattr(p, 'requires_grad', False)",
    ),
}

HELPERS = """
def thaw(part):
    for p in part.parameters(recurse=False):
        p.requires_grad = True

def freeze(part):
    for p in part.parameters(recurse=False):
        p.requires_grad = False

def all_of(net):
    return net.parameters()

"""


def adversarial(thawed: str, frozen: str) -> str:
    def inside(text: str) -> str:
        return "\n".join(f"    {line}" for line in text.split("\n"))

    return f"""{ONE_NET}{TWO_NETS}{HELPERS}
for noise, real in loader:
    made = author(noise)
{inside(thawed)}
    theirs.zero_grad()
    (critic(made.detach()) - critic(real)).mean().backward()
    theirs.step()
{inside(frozen)}
    ours.zero_grad()
    critic(made).mean().backward()
    ours.step()
"""


@each({how: adversarial(*ways) for how, ways in FREEZING.items()})
def test_a_net_that_is_frozen_by_whatever_means_gets_nothing(text: str) -> None:
    assert shown(check(text)) == set()


def test_a_net_that_nobody_freezes_gets_what_is_thrown_away() -> None:
    assert {rule for rule, _ in shown(check(adversarial("pass", "pass")))} == {"GL204"}

"""Actor and critic: reinforcement learning with two nets, each with its optimizer and its Stepper.

The actor's loss has the critic's value in it, and leaves nothing behind there: no detach is needed
to keep the critic's gradient clean. Each net moves once for each episode.
"""

import torch
from torch import nn

from gradledger import Stepper

torch.manual_seed(0)
LENGTH, STEPS = 9, 24

actor = nn.Sequential(nn.Linear(LENGTH, 32), nn.Tanh(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(LENGTH, 32), nn.Tanh(), nn.Linear(32, 1))
stepper_a = Stepper(actor, torch.optim.Adam(actor.parameters(), lr=1e-2), clip_norm=1.0)
stepper_c = Stepper(critic, torch.optim.Adam(critic.parameters(), lr=2e-2), clip_norm=1.0)


def episode() -> tuple[torch.Tensor, torch.Tensor, list[float]]:
    """A walk from the middle of a line: the right end is the goal, and each step costs a little."""
    place, seen, taken, rewards = LENGTH // 2, [], [], []
    for _ in range(STEPS):
        state = nn.functional.one_hot(torch.tensor(place), LENGTH).float()
        with torch.no_grad():
            action = torch.multinomial(actor(state).softmax(0), 1)[0]
        seen.append(state)
        taken.append(action)
        place = max(0, place + (1 if action else -1))
        rewards.append(1.0 if place == LENGTH - 1 else -0.05)
        if place == LENGTH - 1:
            break
    return torch.stack(seen), torch.stack(taken), rewards


def returns(rewards: list[float]) -> torch.Tensor:
    """What is still to come, from each step on."""
    total, found = 0.0, []
    for reward in reversed(rewards):
        total = reward + 0.97 * total
        found.append(total)
    return torch.tensor(found[::-1])


lengths: list[int] = []
for _ in range(200):
    states, actions, rewards = episode()
    goal = returns(rewards)
    value = critic(states).squeeze(1)
    # the value is not detached here: this loss deposits into the actor alone
    chosen = actor(states).log_softmax(1)[torch.arange(len(actions)), actions]
    stepper_a.backward(-(chosen * (goal - value)).mean(), items=len(rewards))
    stepper_c.backward((value - goal).square().mean(), items=len(rewards))
    lengths.append(len(rewards))

first, last = sum(lengths[:20]) / 20, sum(lengths[-20:]) / 20
print(f"steps to the goal in the first 20 episodes: {first:.1f}")
print(
    f"steps to the goal in the last 20 episodes:  {last:.1f} (the shortest way takes {LENGTH // 2})"
)
print(f"updates: actor {stepper_a.updates}, critic {stepper_c.updates}")
if last >= first:
    raise SystemExit("the actor should have learned something")

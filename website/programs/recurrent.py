import torch
from torch import nn


def nodes(tensor):
    """How many operations the graph behind a tensor has."""
    seen, waiting = set(), [tensor.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [following for following, _ in node.next_functions]
    return len(seen)


torch.manual_seed(0)
cell = nn.RNNCell(4, 8)
sequence = torch.randn(6, 5, 1, 4)  # six chunks of five time steps

for detach in (False, True):
    state, sizes = torch.zeros(1, 8), []
    for chunk in sequence:
        for x in chunk:
            state = cell(x, state)
        sizes.append(nodes(state.sum()))
        if detach:
            state = state.detach()  # the value goes on, the graph does not
    print(f"detached {detach!s:5}  operations behind the loss of each chunk:", sizes)

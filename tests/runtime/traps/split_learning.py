"""Client and server: the server sends back the gradient of the activations it was given."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=16, shuffle=True)
client, server = nn.Linear(4, 8), nn.Sequential(nn.ReLU(), nn.Linear(8, 4))
client_optimizer = torch.optim.SGD(client.parameters(), lr=0.1)
server_optimizer = torch.optim.SGD(server.parameters(), lr=0.1)

for _epoch in range(3):
    for inputs, labels in loader:
        client_optimizer.zero_grad()
        server_optimizer.zero_grad()
        activations = client(inputs)
        received = activations.detach().requires_grad_(True)
        nn.functional.cross_entropy(server(received), labels).backward()
        server_optimizer.step()
        activations.backward(received.grad)
        client_optimizer.step()

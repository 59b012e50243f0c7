import torch

gradients = [0.5, -0.2, 0.1, 0.4]


def with_torch(make):
    w = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
    optimizer = make([w])
    path = []
    for g in gradients:
        w.grad = torch.tensor([g], dtype=torch.float64)
        optimizer.step()
        path.append(w.item())
    return path


def sgd(lr=0.1, momentum=0.9):
    w, buffer, path = 1.0, 0.0, []
    for g in gradients:
        buffer = momentum * buffer + g
        w -= lr * buffer
        path.append(w)
    return path


def adam(lr=0.1, beta1=0.9, beta2=0.999, eps=1e-8, correct=True):
    w, m, v, path = 1.0, 0.0, 0.0, []
    for t, g in enumerate(gradients, start=1):
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        m_hat = m / (1 - beta1**t) if correct else m
        v_hat = v / (1 - beta2**t) if correct else v
        w -= lr * m_hat / (v_hat**0.5 + eps)
        path.append(w)
    return path


def row(name, path):
    print(f"{name:32}" + " ".join(f"{w:8.4f}" for w in path))


row("SGD, momentum: torch", with_torch(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)))
row("SGD, momentum: by hand", sgd())
row("Adam: torch", with_torch(lambda p: torch.optim.Adam(p, lr=0.1)))
row("Adam: by hand", adam())
row("Adam without bias correction", adam(correct=False))
first = (adam(correct=False)[0] - 1) / (adam()[0] - 1)
print(f"first step without the correction: {first:.2f} times as long")

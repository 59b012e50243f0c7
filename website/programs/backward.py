import torch

w = torch.tensor(3.0, requires_grad=True)

loss = w**2
loss.backward()  # d(w²)/dw = 2w = 6
print("after one backward:  grad", w.grad.item(), " w", w.item())

(w**2).backward()  # a new graph, the same gradient: it is added
print("after a second one:  grad", w.grad.item())

w.grad = None
(w**2).backward(torch.tensor(10.0))  # the seed: 10 instead of 1
print("with seed 10:        grad", w.grad.item())

w.grad = None
(gradient,) = torch.autograd.grad(w**2, [w])
print("autograd.grad gives ", gradient.item(), " and deposits", w.grad)

try:
    loss.backward()  # the first graph is gone
except RuntimeError as error:
    print("again:", str(error).split(" (")[0])

import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)  # a leaf: code made it
x = torch.tensor([3.0, 4.0])  # a leaf too, but without requires_grad
h = w * x  # a result: it has a grad_fn, and is no leaf
h.retain_grad()  # "keep yours all the same"
y = h * h  # another result, without retain_grad
loss = y.sum()
loss.backward()

for name, tensor in {"w": w, "x": x, "h": h}.items():
    asks = tensor.requires_grad
    print(f"{name}: leaf {tensor.is_leaf!s:5}  requires_grad {asks!s:5}  grad {tensor.grad}")
print("y keeps its gradient:", y.retains_grad)

moved = torch.zeros(2, requires_grad=True).to(torch.float64)  # a result, not the leaf
moved.sum().backward()
print("moved is a leaf:", moved.is_leaf)

"""What is read from tensors and autograd graphs: values, norms, devices, saved tensors."""

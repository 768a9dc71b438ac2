"""Saved activations wait for the backward pass in host memory (torchtune 1867).

Each is loaded on a stream of its own; the compute stream waits for it, autograd drops it, and the next load gets its
bytes while the compute stream has not read them.
"""

import torch

COUNT = 1 << 20


class Offload(torch.autograd.graph.saved_tensors_hooks):
    def __init__(self):
        self.stream = torch.cuda.Stream()
        super().__init__(self.pack, self.unpack)

    def pack(self, tensor):
        host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        host.copy_(tensor)
        return host

    def unpack(self, host):
        with torch.cuda.stream(self.stream):
            tensor = host.to("cuda", non_blocking=True)
        torch.cuda.current_stream().wait_stream(self.stream)
        tensor.record_stream(torch.cuda.current_stream())
        return tensor


class Slow(torch.autograd.Function):
    """A layer whose backward pass takes its time before it reads what was saved."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(factor)
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        (factor,) = ctx.saved_tensors
        torch.cuda._sleep(10_000_000)
        return grad * factor, None


def main():
    results, expected = [], []
    factors = [torch.full((COUNT,), float(k % 3 + 1), device="cuda") for k in range(8)]
    for value in range(1, 6):
        x = torch.full((COUNT,), float(value), device="cuda", requires_grad=True)
        y = x
        with Offload():
            for factor in factors:
                y = Slow.apply(y, factor)
        y.sum().backward()
        results.append(x.grad)
        expected.append(1.0 * 2 * 3 * 1 * 2 * 3 * 1 * 2)
    torch.cuda.synchronize()
    wrong = sum(bool((grad != product).any()) for grad, product in zip(results, expected, strict=True))
    print(f"{wrong} of {len(results)} results wrong")


main()

"""Triton: kernels compiled while the program runs, on two streams, with an event between them. Prints results."""

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, block: tl.constexpr):
    """Add two vectors."""
    at = tl.program_id(0) * block + tl.arange(0, block)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def sums(x, out, columns, block: tl.constexpr):
    """Sum each row."""
    row = tl.program_id(0)
    at = tl.arange(0, block)
    values = tl.load(x + row * columns + at, mask=at < columns, other=0.0)
    tl.store(out + row, tl.sum(values, axis=0))


n = 100_000
x = torch.arange(n, device="cuda", dtype=torch.float32)
y = torch.ones(n, device="cuda")
out = torch.empty_like(x)
side, ready = torch.cuda.Stream(), torch.cuda.Event()
ready.record()
with torch.cuda.stream(side):
    side.wait_event(ready)
    for _ in range(3):
        add[(triton.cdiv(n, 1024),)](x, y, out, n, block=1024)
    rows = out.view(100, 1000)
    each = torch.empty(100, device="cuda")
    sums[(100,)](rows, each, 1000, block=1024)
torch.cuda.current_stream().wait_stream(side)
print(float(out.sum()), float(each[0]), float(each[99]))
halves = torch.zeros(n, device="cuda")
torch.cuda.synchronize()
with torch.cuda.stream(side):
    add[(triton.cdiv(n // 2, 1024),)](x, y, halves, n // 2, block=1024)
add[(triton.cdiv(n // 2, 1024),)](x[n // 2 :], y, halves[n // 2 :], n // 2, block=1024)
torch.cuda.synchronize()
print(torch.equal(halves, x + 1))

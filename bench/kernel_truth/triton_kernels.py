"""Kernels that Triton compiles: masks, tiles, reductions, scans, atomics, descriptors for the copy engine."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import triton
import triton.language as tl
from operations import Operation, run_all
from torch_memory import DEVICE, keep_allocations

# mypy: ignore-errors
# ruff: noqa: N803


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    """Add two vectors."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


@triton.jit
def soften(x, out, columns, BLOCK: tl.constexpr):
    """Take the softmax of each row."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * columns + at, powers / tl.sum(powers, 0), at < columns)


@triton.jit
def normalise(x, weight, bias, out, mean, deviation, columns, BLOCK: tl.constexpr):
    """Normalise each row, and keep what the gradient needs."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, at < columns, other=0.0).to(tl.float32)
    middle = tl.sum(values, 0) / columns
    around = tl.where(at < columns, values - middle, 0.0)
    scale = 1 / tl.sqrt(tl.sum(around * around, 0) / columns + 1e-5)
    tl.store(mean + row, middle)
    tl.store(deviation + row, scale)
    told = around * scale * tl.load(weight + at, at < columns) + tl.load(bias + at, at < columns)
    tl.store(out + row * columns + at, told, at < columns)


@triton.jit
def multiply(a, b, c, m, n, k, BLOCK: tl.constexpr, INNER: tl.constexpr):
    """Multiply two matrices, a tile in each program."""
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, k, INNER):
        inner = start + tl.arange(0, INNER)
        left = tl.load(a + rows[:, None] * k + inner[None], (rows[:, None] < m) & (inner[None] < k), other=0.0)
        right = tl.load(b + inner[:, None] * n + columns[None], (inner[:, None] < k) & (columns[None] < n), other=0.0)
        total += tl.dot(left, right)
    tl.store(c + rows[:, None] * n + columns[None], total, (rows[:, None] < m) & (columns[None] < n))


@triton.jit
def attend(q, k, v, out, length, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """Attention with a running softmax."""
    head = tl.program_id(1) * length * WIDTH
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inner = tl.arange(0, WIDTH)
    query = tl.load(q + head + rows[:, None] * WIDTH + inner[None])
    most = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    found = tl.zeros((BLOCK, WIDTH), tl.float32)
    for start in range(0, length, BLOCK):
        keys = start + tl.arange(0, BLOCK)
        scores = tl.dot(query, tl.trans(tl.load(k + head + keys[:, None] * WIDTH + inner[None])))
        higher = tl.maximum(most, tl.max(scores, 1))
        powers = tl.exp(scores - higher[:, None])
        kept = tl.exp(most - higher)
        total = total * kept + tl.sum(powers, 1)
        values = tl.load(v + head + keys[:, None] * WIDTH + inner[None])
        found = found * kept[:, None] + tl.dot(powers.to(values.dtype), values)
        most = higher
    tl.store(out + head + rows[:, None] * WIDTH + inner[None], found / total[:, None])


@triton.jit
def count(x, bins, n, BLOCK: tl.constexpr):
    """Count values in bins, with atomics."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(bins + tl.load(x + at, at < n, other=0), 1, at < n)


@triton.jit
def claim(flags, out, n, BLOCK: tl.constexpr):
    """Compare and swap, exchange, greatest and least."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    free = tl.zeros((BLOCK,), tl.int32)
    told = tl.atomic_cas(flags + at, free, free + 1)
    tl.atomic_max(out, tl.max(told, 0))
    tl.atomic_min(out + 1, tl.min(told, 0))
    tl.atomic_xchg(out + 2, 7)


@triton.jit
def scan(x, out, order, n, BLOCK: tl.constexpr):
    """Running sums, and a sorted block."""
    at = tl.arange(0, BLOCK)
    values = tl.load(x + at, at < n, other=0.0)
    tl.store(out + at, tl.cumsum(values, 0), at < n)
    tl.store(order + at, tl.sort(values), at < n)


@triton.jit
def moved(x, out, rows, columns, BLOCK: tl.constexpr):
    """Turn a matrix with block pointers."""
    source = tl.make_block_ptr(
        x, (rows, columns), (columns, 1), (tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK), (BLOCK, BLOCK), (1, 0)
    )
    target = tl.make_block_ptr(
        out, (columns, rows), (rows, 1), (tl.program_id(1) * BLOCK, tl.program_id(0) * BLOCK), (BLOCK, BLOCK), (1, 0)
    )
    tl.store(target, tl.trans(tl.load(source, boundary_check=(0, 1))), boundary_check=(0, 1))


@triton.jit
def found(table, out, n, BLOCK: tl.constexpr):
    """Follow addresses that stand in memory."""
    row = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    at = tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0) * n + at, tl.load(row + at, at < n), at < n)


@triton.jit
def described(x, out, rows, columns, BLOCK: tl.constexpr):
    """Copy by descriptors that the kernel makes."""
    source = tl.make_tensor_descriptor(x, (rows, columns), (columns, 1), (BLOCK, BLOCK))
    target = tl.make_tensor_descriptor(out, (rows, columns), (columns, 1), (BLOCK, BLOCK))
    row, column = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    target.store((row, column), source.load((row, column)) * 2)


@triton.jit
def drop(x, out, n, seed, BLOCK: tl.constexpr):
    """Leave out a third of the values, by random numbers."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kept = tl.rand(seed, at) > 0.33
    tl.store(out + at, tl.where(kept, tl.load(x + at, at < n) / 0.67, 0.0), at < n)


@triton.jit
def gather(table, index, out, columns, BLOCK: tl.constexpr):
    """Take the rows of a table that an index names."""
    row = tl.load(index + tl.program_id(0))
    at = tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0) * columns + at, tl.load(table + row * columns + at, at < columns), at < columns)


@triton.jit
def choose(x, chosen, out, n, BLOCK: tl.constexpr):
    """Copy the values that another array chooses; the others stay."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = (at < n) & (tl.load(chosen + at, at < n, other=0) != 0)
    tl.store(out + at, tl.load(x + at, mask), mask)


@triton.jit
def sum_columns(x, out, rows, columns, BLOCK: tl.constexpr):
    """Add up each column, down the rows."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in range(rows):
        total += tl.load(x + row * columns + at, at < columns, other=0.0).to(tl.float32)
    tl.store(out + at, total, at < columns)


@triton.jit
def sum_all(x, out, n, BLOCK: tl.constexpr):
    """Add up everything: each program a share, then an atomic addition."""
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + at, at < n, other=0.0).to(tl.float32)
    tl.atomic_add(out, tl.sum(total, 0))


def operations() -> Iterator[Operation]:
    """Each kernel for some types, sizes and tiles."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        for n, block in ((1000, 128), (4096, 1024), (777, 256)):
            x = torch.rand(n, device=DEVICE).to(dtype)
            yield (
                f"add {n} {dtype}",
                lambda x=x, n=n, block=block: add[(triton.cdiv(n, block),)](
                    x, x.clone(), torch.empty_like(x), n, BLOCK=block
                ),
            )
        matrix = torch.rand(100, 200, device=DEVICE).to(dtype)
        yield f"soften {dtype}", lambda m=matrix: soften[(100,)](m, torch.empty_like(m), 200, BLOCK=256)
        yield f"normalise {dtype}", lambda m=matrix: normalise[(100,)](
            m, m[0], m[1], torch.empty_like(m), torch.empty(100, device=DEVICE), torch.empty(100, device=DEVICE), 200,
            BLOCK=256,
        )  # fmt: skip
        for block, inner in ((32, 32), (64, 32), (128, 64)):
            a, b = torch.rand(130, 96, device=DEVICE).to(dtype), torch.rand(96, 200, device=DEVICE).to(dtype)
            yield (
                f"multiply {block} {dtype}",
                lambda a=a, b=b, block=block, inner=inner: multiply[(triton.cdiv(130, block), triton.cdiv(200, block))](
                    a, b, torch.empty(130, 200, device=DEVICE), 130, 200, 96, BLOCK=block, INNER=inner
                ),
            )
        heads = torch.rand(6, 128, 64, device=DEVICE).to(dtype)
        yield (
            f"attend {dtype}",
            lambda h=heads: attend[(2, 6)](h, h.clone(), h.clone(), torch.empty_like(h), 128, WIDTH=64, BLOCK=64),
        )
        yield (
            f"scan {dtype}",
            lambda m=matrix: scan[(1,)](m[0], torch.empty_like(m[0]), torch.empty_like(m[0]), 200, BLOCK=256),
        )
        yield f"moved {dtype}", lambda m=matrix: moved[(4, 7)](m, torch.empty_like(m.t()), 100, 200, BLOCK=32)
        yield f"described {dtype}", lambda dtype=dtype: _described(dtype)
        yield f"drop {dtype}", lambda m=matrix: drop[(20,)](m, torch.empty_like(m), 20000, 7, BLOCK=1024)
        yield (
            f"gather {dtype}",
            lambda m=matrix: gather[(7,)](
                m, torch.randint(100, (7,), device=DEVICE), torch.empty_like(m[:7]), 200, BLOCK=256
            ),
        )
        yield (
            f"choose {dtype}",
            lambda m=matrix: choose[(20,)](
                m, torch.randint(2, (20000,), device=DEVICE, dtype=torch.int8), torch.zeros_like(m), 20000, BLOCK=1024
            ),
        )
        yield (
            f"sum_columns {dtype}",
            lambda m=matrix: sum_columns[(4,)](m, torch.empty(200, device=DEVICE), 100, 200, BLOCK=64),
        )
        yield f"sum_all {dtype}", lambda m=matrix: sum_all[(5,)](m, torch.zeros(1, device=DEVICE), 20000, BLOCK=512)
    rows = torch.rand(5, 100, device=DEVICE)
    table = torch.tensor([rows[4 - at].data_ptr() for at in range(5)], device=DEVICE)
    yield "found", lambda: found[(5,)](table, torch.empty_like(rows), 100, BLOCK=128)
    yield (
        "count",
        lambda: count[(4,)](
            torch.randint(16, (1000,), device=DEVICE),
            torch.zeros(16, device=DEVICE, dtype=torch.int32),
            1000,
            BLOCK=256,
        ),
    )
    yield (
        "claim",
        lambda: claim[(2,)](
            torch.zeros(512, device=DEVICE, dtype=torch.int32),
            torch.zeros(3, device=DEVICE, dtype=torch.int32),
            512,
            BLOCK=256,
        ),
    )


def _described(dtype: torch.dtype) -> None:
    triton.set_allocator(lambda size, _align, _stream: torch.empty(size, device=DEVICE, dtype=torch.int8))
    x = torch.rand(128, 256, device=DEVICE).to(dtype)
    described[(2, 4)](x, torch.empty_like(x), 128, 256, BLOCK=64)


if __name__ == "__main__":
    keep_allocations()
    run_all(operations(), torch.cuda.synchronize)

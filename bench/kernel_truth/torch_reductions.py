"""PyTorch's kernels that reduce, scan, sort, gather, scatter, move and draw."""

# ruff: noqa: SIM905  (names are easier to read as words)

from __future__ import annotations

import sys
from collections.abc import Iterator

import torch
from operations import Operation, run_all
from torch.nn import functional
from torch_memory import DEVICE, keep_allocations, spread

TYPES = (torch.float32, torch.float16, torch.float64, torch.int64)
REDUCTIONS = """sum mean amax amin prod std var norm logsumexp argmax argmin any all cumsum cumprod cummax cummin sort
    argsort unique median mode max min nansum count_nonzero aminmax std_mean logcumsumexp kthvalue softmax log_softmax
    diff""".split()
DRAWS = "uniform_ normal_ exponential_ cauchy_ geometric_ log_normal_ random_ bernoulli_".split()


def reductions(dtype: torch.dtype) -> Iterator[Operation]:
    """Reduce over everything, over rows and over columns; and over something large."""
    x = torch.arange(96 * 96, device=DEVICE).remainder(97).to(dtype).reshape(96, 96)
    large = torch.ones(1 << 18, device=DEVICE, dtype=dtype)
    third = {"kthvalue": (3,)}
    for name in REDUCTIONS:
        function, first = getattr(torch, name), third.get(name, ())
        if name not in ("cumsum", "cumprod", "cummax", "cummin", "logsumexp", "logcumsumexp", "softmax", "log_softmax"):
            yield f"{name} {dtype} all", lambda function=function, first=first: function(x, *first)
            yield f"{name} {dtype} large", lambda function=function, first=first: function(large, *first)
        for dim in (0, 1):
            yield (
                f"{name} {dtype} over {dim}",
                lambda function=function, first=first, dim=dim: function(x, *first, dim=dim),
            )
        yield f"{name} {dtype} strided", lambda function=function, first=first: function(spread(x), *first, dim=0)
    yield f"topk {dtype}", lambda: torch.topk(x, 5)
    yield f"topk large {dtype}", lambda: torch.topk(large, 1000)
    yield f"sort large {dtype}", lambda: torch.sort(large)
    yield f"unique_consecutive {dtype}", lambda: torch.unique_consecutive(x)
    yield f"histc {dtype}", lambda: torch.histc(x, 10)
    yield f"bucketize {dtype}", lambda: torch.bucketize(x, x[0].sort().values)
    yield f"cdist {dtype}", lambda: torch.cdist(x, x[:5])
    yield f"renorm {dtype}", lambda: torch.renorm(x, 2, 0, 1.0)
    yield f"trace {dtype}", lambda: torch.trace(x)
    yield f"dot {dtype}", lambda: torch.dot(x[0], x[1])


def indexing(dtype: torch.dtype) -> Iterator[Operation]:
    """Gather, scatter and pick, with duplicate indices."""
    x = torch.arange(96 * 96, device=DEVICE).remainder(97).to(dtype).reshape(96, 96)
    rows = torch.tensor([0, 5, 5, 9], device=DEVICE)
    many = rows.repeat(x.shape[0], 1)
    values = x[:, :4].contiguous()
    yield f"index_select {dtype}", lambda: x.index_select(0, rows)
    yield f"index_select columns {dtype}", lambda: x.index_select(1, rows)
    yield f"index_add {dtype}", lambda: x.index_add(0, rows, x[:4])
    yield f"index_copy {dtype}", lambda: x.index_copy(0, rows[:2], x[:2])
    yield f"index_fill {dtype}", lambda: x.index_fill(1, rows, 1)
    yield f"index_reduce {dtype}", lambda: x.index_reduce(0, rows, x[:4], "amax")
    yield f"pick {dtype}", lambda: x[rows]
    yield f"pick both {dtype}", lambda: x[rows, rows]
    yield f"put {dtype}", lambda: x.clone().index_put_((rows,), x[:4] * 2)
    yield f"put accumulate {dtype}", lambda: x.clone().index_put_((rows,), x[:4], accumulate=True)
    yield f"put_ {dtype}", lambda: x.clone().put_(rows, x[0, :4])
    yield f"take {dtype}", lambda: x.take(rows)
    yield f"gather {dtype}", lambda: torch.gather(x, 1, many)
    yield f"scatter value {dtype}", lambda: x.scatter(1, many, 2)
    yield f"scatter {dtype}", lambda: x.scatter(1, many, values)
    yield f"scatter_add {dtype}", lambda: x.scatter_add(1, many, values)
    for how in ("sum", "prod", "amax", "mean"):
        yield f"scatter_reduce {how} {dtype}", lambda how=how: x.scatter_reduce(1, many, values, how)
    yield f"masked_fill {dtype}", lambda: x.masked_fill(x > 5, 0)
    yield f"masked_scatter {dtype}", lambda: x.masked_scatter(x > 5, x)
    yield f"masked pick {dtype}", lambda: x[x > 5]
    yield f"nonzero {dtype}", lambda: torch.nonzero(x > 7)
    yield f"searchsorted {dtype}", lambda: torch.searchsorted(x[0].sort().values, x[1].contiguous())
    yield f"bincount {dtype}", lambda: torch.bincount(x.reshape(-1).long(), x.reshape(-1))
    yield f"isin {dtype}", lambda: torch.isin(x, x[0])
    yield f"repeat_interleave {dtype}", lambda: torch.repeat_interleave(x, rows.new_full((96,), 2), 0)
    yield f"embedding {dtype}", lambda: functional.embedding(rows, x)


def moves(dtype: torch.dtype) -> Iterator[Operation]:
    """Move elements: copies that are not dense, concatenations, padding; images; random numbers."""
    x = torch.arange(96 * 96, device=DEVICE).remainder(97).to(dtype).reshape(96, 96)
    image = x[None, None]
    yield f"cat {dtype}", lambda: torch.cat([x, x[:5]], 0)
    yield f"cat columns {dtype}", lambda: torch.cat([x, x[:, :5]], 1)
    yield f"cat many {dtype}", lambda: torch.cat([x[:3]] * 50, 0)
    yield f"transposed {dtype}", lambda: x.t().contiguous()
    yield f"permuted {dtype}", lambda: x.reshape(4, 24, 8, 12).permute(3, 1, 0, 2).contiguous()
    yield f"roll {dtype}", lambda: x.roll(3, 0)
    yield f"roll columns {dtype}", lambda: x.roll(3, 1)
    yield f"flip {dtype}", lambda: x.flip(1)
    yield f"tril {dtype}", lambda: torch.tril(x)
    yield f"triu {dtype}", lambda: torch.triu(x, 2)
    yield f"tril_indices {dtype}", lambda: torch.tril_indices(20, 20, device=DEVICE)
    yield f"eye {dtype}", lambda: torch.eye(50, device=DEVICE, dtype=dtype)
    yield f"arange {dtype}", lambda: torch.arange(1000, device=DEVICE, dtype=dtype)
    yield f"linspace {dtype}", lambda: torch.linspace(0, 10, 1000, device=DEVICE, dtype=dtype)
    yield f"logspace {dtype}", lambda: torch.logspace(0, 1, 1000, device=DEVICE, dtype=dtype)
    yield f"cross {dtype}", lambda: torch.linalg.cross(x[:, :3], x[:, 3:6])
    for mode in ("reflect", "replicate", "circular", "constant"):
        yield f"pad {mode} {dtype}", lambda mode=mode: functional.pad(image, (1, 2, 3, 4), mode)
        yield f"pad 1d {mode} {dtype}", lambda mode=mode: functional.pad(x[None], (1, 2), mode)
    for mode in ("nearest", "bilinear", "bicubic", "area", "nearest-exact"):
        yield f"interpolate {mode} {dtype}", lambda mode=mode: functional.interpolate(image, size=(50, 70), mode=mode)
    for mode in ("linear", "trilinear"):
        shape = x[None] if mode == "linear" else x.reshape(1, 1, 16, 24, 24)
        yield (
            f"interpolate {mode} {dtype}",
            lambda mode=mode, s=shape: functional.interpolate(s, scale_factor=2, mode=mode),
        )
    for mode in ("bilinear", "nearest", "bicubic"):
        yield (
            f"grid_sample {mode} {dtype}",
            lambda mode=mode: functional.grid_sample(
                image, torch.rand(1, 8, 8, 2, device=DEVICE).to(dtype), mode, align_corners=False
            ),
        )
    yield f"unfold {dtype}", lambda: functional.unfold(image, 3)
    yield f"fold {dtype}", lambda: functional.fold(functional.unfold(image, 3), (96, 96), 3)
    yield f"pixel_shuffle {dtype}", lambda: functional.pixel_shuffle(x.reshape(1, 4, 48, 48), 2)
    yield f"randint {dtype}", lambda: torch.randint(10, (1000,), device=DEVICE, dtype=dtype)
    for name in DRAWS:
        given = (0.3,) if name == "geometric_" else ()
        yield f"{name} {dtype}", lambda name=name, given=given: getattr(torch.empty_like(x), name)(*given)
    yield f"bernoulli {dtype}", lambda: torch.bernoulli(x / 100)
    yield f"multinomial {dtype}", lambda: torch.multinomial(x + 1, 3)
    yield f"multinomial again {dtype}", lambda: torch.multinomial(x + 1, 300, replacement=True)
    yield f"poisson {dtype}", lambda: torch.poisson(x)
    yield f"randperm {dtype}", lambda: (torch.randperm(100, device=DEVICE), torch.randperm(100_000, device=DEVICE))


if __name__ == "__main__":
    keep_allocations()
    part = {"reductions": reductions, "indexing": indexing, "moves": moves}[sys.argv[1]]
    run_all((operation for dtype in TYPES for operation in part(dtype)), torch.cuda.synchronize)

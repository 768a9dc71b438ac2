"""What PyTorch leaves to libraries: products, transforms, decompositions, sparse matrices."""

# ruff: noqa: SIM905  (names are easier to read as words)

from __future__ import annotations

import sys
from collections.abc import Iterator

import torch
from operations import Operation, run_all
from torch_memory import DEVICE, keep_allocations

TYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.complex64)
SIZES = ((64, 64, 64), (128, 256, 512), (33, 65, 17), (1, 300, 200), (1024, 128, 1024), (8, 4096, 8))
"""of products: rows, the dimension that is summed over, columns"""


def products(dtype: torch.dtype) -> Iterator[Operation]:
    """Products of several sizes and layouts."""
    for rows, inner, columns in SIZES:
        a, b = _matrix(rows, inner, dtype), _matrix(inner, columns, dtype)
        name = f"{rows}x{inner}x{columns} {dtype}"
        yield f"mm {name}", lambda a=a, b=b: a @ b
        yield f"mm left transposed {name}", lambda a=a, b=b: a.t().contiguous().t() @ b
        yield f"mm right transposed {name}", lambda a=a, b=b: a @ b.t().contiguous().t()
        yield f"addmm {name}", lambda a=a, b=b: torch.addmm(b[0], a, b)
        yield f"bmm {name}", lambda a=a, b=b: torch.bmm(a.repeat(3, 1, 1), b.repeat(3, 1, 1))
        yield f"linear {name}", lambda a=a, b=b: torch.nn.functional.linear(a, b.t().contiguous(), b[0])
        yield f"gelu {name}", lambda a=a, b=b: torch._addmm_activation(b[0], a, b, use_gelu=True)
        yield f"mv {name}", lambda a=a, b=b: a @ b[:, 0].contiguous()
    x = _matrix(48, 48, dtype)
    yield f"outer {dtype}", lambda: torch.outer(x[0], x[1])
    yield f"addr {dtype}", lambda: torch.addr(x, x[0], x[1])
    yield f"baddbmm {dtype}", lambda: torch.baddbmm(x.repeat(2, 1, 1), x.repeat(2, 1, 1), x.repeat(2, 1, 1))
    yield f"einsum {dtype}", lambda: torch.einsum("ij,jk,kl->il", x, x, x)
    yield f"kron {dtype}", lambda: torch.kron(x[:4, :4], x)
    yield f"matrix power {dtype}", lambda: torch.linalg.matrix_power(x, 5)
    yield f"int8 {dtype}", lambda: torch._int_mm(x.real.to(torch.int8), x.real.to(torch.int8))


def libraries(dtype: torch.dtype) -> Iterator[Operation]:
    """Transforms and decompositions."""
    for size in (64, 96, 512, 1000, 4096, 65536, 10007):
        line = torch.rand(2, size, device=DEVICE).to(dtype)
        yield f"fft {size} {dtype}", lambda line=line: torch.fft.fft(line)
        yield f"rfft {size} {dtype}", lambda line=line: torch.fft.irfft(torch.fft.rfft(line))
    x = _matrix(40, 40, dtype)
    definite = x @ x.mH + 40 * torch.eye(40, device=DEVICE, dtype=dtype)
    yield f"fft2 {dtype}", lambda: torch.fft.fft2(x)
    yield f"fftshift {dtype}", lambda: torch.fft.fftshift(x)
    for name in "cholesky inv det slogdet eigvalsh eigh svd qr lu lu_factor pinv matrix_rank matrix_exp".split():
        function = getattr(torch.linalg, name)
        yield f"{name} {dtype}", lambda function=function: function(definite)
        yield f"{name} batched {dtype}", lambda function=function: function(definite.repeat(3, 1, 1))
    yield f"svd wide {dtype}", lambda: torch.linalg.svd(x[:8])
    yield f"solve {dtype}", lambda: torch.linalg.solve(definite, x)
    yield f"solve batched {dtype}", lambda: torch.linalg.solve(definite.repeat(5, 1, 1), x.repeat(5, 1, 1))
    yield f"triangular {dtype}", lambda: torch.linalg.solve_triangular(definite.triu(), x, upper=True)
    yield (
        f"triangular batched {dtype}",
        lambda: torch.linalg.solve_triangular(definite.triu().repeat(5, 1, 1), x.repeat(5, 1, 1), upper=True),
    )
    yield f"lstsq {dtype}", lambda: torch.linalg.lstsq(definite, x)
    yield f"cholesky_solve {dtype}", lambda: torch.cholesky_solve(x, torch.linalg.cholesky(definite))
    yield f"vander {dtype}", lambda: torch.linalg.vander(x[0])


def sparse(dtype: torch.dtype) -> Iterator[Operation]:
    """Sparse matrices in several formats."""
    x = torch.where(_matrix(64, 64, dtype).abs() > 0.6, 1, 0).to(dtype)
    yield f"to sparse {dtype}", lambda: x.to_sparse().to_dense()
    yield f"coalesce {dtype}", lambda: (x.to_sparse() + x.to_sparse()).coalesce()
    yield f"sparse mm {dtype}", lambda: torch.sparse.mm(x.to_sparse(), x)
    yield f"sparse sparse {dtype}", lambda: torch.sparse.mm(x.to_sparse(), x.to_sparse())
    yield f"sparse softmax {dtype}", lambda: torch.sparse.softmax(x.to_sparse(), 1)
    yield f"csr mm {dtype}", lambda: x.to_sparse_csr() @ x
    yield f"csr mv {dtype}", lambda: x.to_sparse_csr() @ x[0]
    yield f"csr csr {dtype}", lambda: x.to_sparse_csr() @ x.to_sparse_csr()
    yield f"csc {dtype}", lambda: x.to_sparse_csc().to_dense()
    yield f"bsr {dtype}", lambda: x.to_sparse_bsr((8, 8)) @ x


def _matrix(rows: int, columns: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.linspace(-1, 1, rows * columns, device=DEVICE).sin().to(dtype).reshape(rows, columns)


if __name__ == "__main__":
    keep_allocations()
    part = {"products": products, "libraries": libraries, "sparse": sparse}[sys.argv[1]]
    run_all((operation for dtype in TYPES for operation in part(dtype)), torch.cuda.synchronize)

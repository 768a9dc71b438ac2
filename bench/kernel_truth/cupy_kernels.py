"""Kernels that CuPy compiles at run time, and those of the libraries that it calls, cuBLAS directly too."""

# ruff: noqa: SIM905  (names are easier to read as words)

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import cupy
import numpy
from cupy_backends.cuda.libs import cublas as blas
from cupyx.scipy import fft, ndimage, signal, sparse, special
from operations import Operation, run_all

UNARY = """sin cos tan sinh cosh arcsin arctan exp exp2 expm1 log log2 log10 log1p sqrt cbrt floor ceil trunc rint sign
    isnan isinf isfinite square absolute negative reciprocal tanh arcsinh degrees radians signbit logical_not invert
    angle conj real imag nan_to_num sinc i0 spacing fix""".split()
BINARY = """add subtract multiply divide floor_divide remainder power maximum minimum fmax fmin less less_equal greater
    equal not_equal hypot logaddexp logaddexp2 fmod bitwise_and bitwise_or bitwise_xor left_shift right_shift arctan2
    copysign nextafter ldexp heaviside gcd lcm logical_and logical_or logical_xor float_power""".split()
REDUCTIONS = """sum prod amax amin argmax argmin mean var std any all cumsum cumprod sort argsort unique median nansum
    nanmax nanmean ptp count_nonzero percentile diff gradient trace nonzero bincount""".split()
KEPT: list[Any] = []

SAXPY = """extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}"""
SPREAD = """struct Pair { float* first; float* second; };
extern "C" __global__ void spread(Pair pair, int n, unsigned* counter) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    pair.second[n - 1 - i] = pair.first[i];
    atomicAdd(counter, 1u);
}"""


def kept(size: int) -> Any:
    """Ask the driver for memory, and never give it back: so each array has an allocation of its own."""
    memory = cupy.cuda.memory._malloc(size)
    KEPT.append(memory)
    return memory


def texts() -> Iterator[Operation]:
    """Kernels that were written as text, one with pointers in a structure."""
    x, y = cupy.arange(1000, dtype=cupy.float32), cupy.ones(1000, dtype=cupy.float32)
    counter = cupy.zeros(1, dtype=cupy.uint32)
    saxpy, spread = cupy.RawKernel(SAXPY, "saxpy"), cupy.RawModule(code=SPREAD)
    pair = numpy.array([(x.data.ptr, y.data.ptr)], dtype=[("first", "u8"), ("second", "u8")])
    yield "saxpy", lambda: saxpy((4,), (256,), (cupy.float32(2), x, y, 1000))
    yield "spread", lambda: spread.get_function("spread")((4,), (256,), (pair[0], 1000, counter))
    for kind in ("T x, raw T table", "raw T x, raw T table"):
        read = "x" if kind.startswith("T") else "x[i]"
        look = cupy.ElementwiseKernel(kind, "T y", f"y = {read} * table[i % 4]", "look_up")
        yield f"look up {kind}", lambda look=look: look(x, y, cupy.empty_like(x))
    inner = cupy.ReductionKernel("T x, T y", "T r", "x * y", "a + b", "r = a", "0", "inner")
    yield "inner", lambda: inner(x, y)
    yield "fused", lambda: cupy.fuse(lambda a, b: cupy.sqrt(a * a + b * b))(x, y)
    yield "fused sum", lambda: cupy.fuse(lambda a, b: cupy.sum(a * b))(x, y)


def ufuncs() -> Iterator[Operation]:
    """Functions of elements."""
    for dtype in (cupy.float32, cupy.float64, cupy.int32, cupy.complex64, cupy.float16, cupy.bool_):
        x = cupy.arange(1, 2401).astype(dtype).reshape(40, 60)
        for name in UNARY:
            yield f"{name} {dtype}", lambda name=name, x=x: getattr(cupy, name)(x)
            yield f"{name} {dtype} turned", lambda name=name, x=x: getattr(cupy, name)(x.T)
        for name in BINARY:
            yield f"{name} {dtype}", lambda name=name, x=x: getattr(cupy, name)(x, x[::-1])
        for name in ("erf", "gamma", "gammaln", "j0", "ndtr", "expit", "digamma", "zeta"):
            given = (x, x) if name == "zeta" else (x,)
            yield f"{name} {dtype}", lambda name=name, given=given: getattr(special, name)(*given)


def arrays() -> Iterator[Operation]:
    """Reductions, indexing, moves, random numbers."""
    rows = cupy.asarray([1, 1, 3])
    for dtype in (cupy.float32, cupy.float64, cupy.int32):
        x = cupy.arange(1, 2401).astype(dtype).reshape(40, 60)
        for name in REDUCTIONS:
            extra = (50,) if name == "percentile" else ()
            flat = x.reshape(-1) if name == "bincount" else x
            yield f"{name} {dtype}", lambda name=name, flat=flat, extra=extra: getattr(cupy, name)(flat, *extra)
            yield f"{name} {dtype} rows", lambda name=name, extra=extra, x=x: getattr(cupy, name)(x, *extra, axis=0)
        yield f"pick {dtype}", lambda x=x: x[rows]
        yield f"pick both {dtype}", lambda x=x: x[rows, rows]
        yield f"mask {dtype}", lambda x=x: x[x > 5]
        yield f"take {dtype}", lambda x=x: x.take(rows, axis=1)
        yield f"put {dtype}", lambda x=x: x.copy().put(rows, 5)
        yield f"set {dtype}", lambda x=x: _set(x.copy(), rows)
        yield f"scatter {dtype}", lambda x=x: cupy.add.at(x.copy(), rows, 5)
        yield f"where {dtype}", lambda x=x: cupy.where(x > 5, x, -x)
        yield f"choose {dtype}", lambda x=x: cupy.choose(rows % 2, [x[0, :3], x[1, :3]])
        yield f"concatenate {dtype}", lambda x=x: cupy.concatenate([x, x[:3]])
        yield f"concatenate columns {dtype}", lambda x=x: cupy.concatenate([x, x], axis=1)
        yield f"stack {dtype}", lambda x=x: cupy.stack([x, x])
        yield f"tile {dtype}", lambda x=x: cupy.tile(x, (2, 3))
        yield f"repeat {dtype}", lambda x=x: cupy.repeat(x, 3, axis=1)
        yield f"roll {dtype}", lambda x=x: cupy.roll(x, 3)
        yield f"pad {dtype}", lambda x=x: cupy.pad(x, 2, mode="reflect")
        yield f"turned {dtype}", lambda x=x: cupy.ascontiguousarray(x.T)
        yield f"tril {dtype}", lambda x=x: cupy.tril(x)
        yield f"searchsorted {dtype}", lambda x=x: cupy.searchsorted(x[0], x[1])
        yield f"digitize {dtype}", lambda x=x: cupy.digitize(x, x[0])
        yield f"histogram {dtype}", lambda x=x: cupy.histogram(x, 10)
        yield f"interp {dtype}", lambda x=x: cupy.interp(x[0], x[1], x[2])
        yield f"convolve {dtype}", lambda x=x: cupy.convolve(x[0], x[1])
        yield f"lexsort {dtype}", lambda x=x: cupy.lexsort(x[:3])
        yield f"partition {dtype}", lambda x=x: cupy.partition(x, 5)
        yield f"packbits {dtype}", lambda x=x: cupy.packbits(x > 5)
        yield f"astype {dtype}", lambda x=x: [x.astype(other) for other in ("i1", "u2", "f2", "f8", "c8", "?")]
        for name in ("gaussian_filter", "sobel", "laplace"):
            extra = (1.5,) if name.startswith("g") else ()
            yield f"{name} {dtype}", lambda name=name, extra=extra, x=x: getattr(ndimage, name)(x, *extra)
        for name in ("uniform_filter", "median_filter", "maximum_filter", "grey_erosion"):
            yield f"{name} {dtype}", lambda name=name, x=x: getattr(ndimage, name)(x, 3)
        yield f"zoom {dtype}", lambda x=x: ndimage.zoom(x, 1.5)
        yield f"rotate {dtype}", lambda x=x: ndimage.rotate(x, 30)
        yield f"label {dtype}", lambda x=x: ndimage.label(x % 3 > 1)
        yield f"convolve2d {dtype}", lambda x=x: signal.convolve2d(x, x[:3, :3])
    for name in "rand randn standard_normal exponential standard_gamma poisson gumbel laplace logistic".split():
        given = {"poisson": (3.0, 100), "standard_gamma": (2.0, 100), "exponential": (1.0, 100)}.get(name, (100,))
        yield f"random {name}", lambda name=name, given=given: getattr(cupy.random, name)(*given)
    for name in ("random", "standard_normal", "exponential", "poisson", "gamma", "beta", "integers", "binomial"):
        yield f"generator {name}", lambda name=name: _drawn(name)
    yield "permutation", lambda: cupy.random.permutation(1000)
    yield "choice", lambda: cupy.random.choice(cupy.arange(100), 10)


def _set(x: Any, rows: Any) -> None:
    x[rows] = 3
    x[x > 5] = 2
    x[:, ::2] = x[:, 1::2]


def _drawn(name: str) -> None:
    given = {"poisson": (3.0,), "gamma": (2.0,), "beta": (1.0, 2.0), "integers": (10,), "binomial": (10, 0.3)}
    getattr(cupy.random.default_rng(1), name)(*given.get(name, ()), size=1000)


def libraries() -> Iterator[Operation]:
    """cuBLAS, cuSPARSE, cuFFT, cuSOLVER."""
    for dtype in (cupy.float32, cupy.float64, cupy.complex64, cupy.float16):
        x = (cupy.arange(4096).reshape(64, 64) % 17).astype(dtype) + cupy.eye(64).astype(dtype) * 40
        yield f"product {dtype}", lambda x=x: x @ x.T
        yield f"tensordot {dtype}", lambda x=x: cupy.tensordot(x, x, 1)
        yield f"einsum {dtype}", lambda x=x: cupy.einsum("ij,jk->ki", x, x)
        yield f"vector {dtype}", lambda x=x: x @ x[0]
        for name in ("inv", "det", "cholesky", "eigh", "svd", "qr", "norm", "pinv", "eigvalsh", "slogdet"):
            yield f"{name} {dtype}", lambda name=name, x=x: getattr(cupy.linalg, name)(x)
        yield f"solve {dtype}", lambda x=x: cupy.linalg.solve(x, x[0])
        for name in ("fft", "ifft", "rfft", "fft2", "dct", "dst"):
            yield f"{name} {dtype}", lambda name=name, x=x: getattr(fft, name)(x)
        thin = cupy.where(x % 5 > 2, x, 0) if dtype != cupy.complex64 else x
        for form in ("csr_matrix", "csc_matrix", "coo_matrix"):
            made = getattr(sparse, form)
            yield f"{form} {dtype}", lambda made=made, thin=thin: made(thin).toarray()
            yield f"{form} vector {dtype}", lambda made=made, thin=thin: made(thin) @ thin[0]
            yield f"{form} matrix {dtype}", lambda made=made, thin=thin: made(thin) @ thin
            yield f"{form} itself {dtype}", lambda made=made, thin=thin: made(thin) @ made(thin)
            yield f"{form} sum {dtype}", lambda made=made, thin=thin: (made(thin) + made(thin)).sum(axis=0)
            yield f"{form} turned {dtype}", lambda made=made, thin=thin: made(thin).T.tocsr().sort_indices()
    yield from _blas()


def _blas() -> Iterator[Operation]:
    handle = cupy.cuda.device.get_cublas_handle()
    one = {kind: numpy.array(1, dtype) for kind, dtype in zip("sdcz", ("f4", "f8", "c8", "c16"), strict=True)}
    for kind, scalar in one.items():
        a, b, c = (cupy.ones((96, 96), scalar.dtype) for _ in range(3))
        x, y = cupy.ones(96, scalar.dtype), cupy.ones(96, scalar.dtype)
        single = scalar.ctypes.data
        dotted = "" if kind in "sd" else "u"
        pointers = [cupy.asarray([each.data.ptr + 96 * at for at in range(4)], dtype=cupy.uint64) for each in (a, b, c)]
        calls: dict[str, tuple[Any, ...]] = {
            "gemv": (0, 96, 96, single, a.data.ptr, 96, x.data.ptr, 1, single, y.data.ptr, 1),
            "gemm": (0, 1, 96, 96, 96, single, a.data.ptr, 96, b.data.ptr, 96, single, c.data.ptr, 96),
            "geam": (0, 1, 96, 96, single, a.data.ptr, 96, single, b.data.ptr, 96, c.data.ptr, 96),
            "dgmm": (0, 96, 96, a.data.ptr, 96, x.data.ptr, 1, c.data.ptr, 96),
            "trsm": (0, 0, 0, 0, 96, 96, single, a.data.ptr, 96, c.data.ptr, 96),
            "syrk": (0, 0, 96, 96, single, a.data.ptr, 96, single, c.data.ptr, 96),
            "axpy": (96, single, x.data.ptr, 1, y.data.ptr, 1),
            "scal": (96, single, y.data.ptr, 1),
            f"ger{dotted}": (96, 96, single, x.data.ptr, 1, y.data.ptr, 1, c.data.ptr, 96),
            "gemmBatched": (
                0, 0, 16, 16, 16, single, pointers[0].data.ptr, 16, pointers[1].data.ptr, 16, single,
                pointers[2].data.ptr, 16, 4,
            ),
            "gemmStridedBatched": (
                0, 0, 16, 16, 16, single, a.data.ptr, 16, 256, b.data.ptr, 16, 256, single, c.data.ptr, 16, 256, 4,
            ),
            "trsmBatched": (0, 0, 0, 0, 8, 8, single, pointers[0].data.ptr, 8, pointers[2].data.ptr, 8, 4),
        }  # fmt: skip
        for name, given in calls.items():
            yield f"{kind}{name}", lambda call=f"{kind}{name}", given=given: getattr(blas, call)(handle, *given)
        result = cupy.empty(1, scalar.dtype)
        for name, given in {
            f"dot{dotted}": (96, x.data.ptr, 1, y.data.ptr, 1, result.data.ptr),
            "nrm2": (96, x.data.ptr, 1, result.data.ptr),
            "asum": (96, x.data.ptr, 1, result.data.ptr),
        }.items():
            yield f"{kind}{name}", lambda call=f"{kind}{name}", given=given: _on_device(call, handle, given)
        yield (
            f"i{kind}amax",
            lambda kind=kind, x=x: _on_device(
                f"i{kind}amax", handle, (96, x.data.ptr, 1, cupy.empty(1, cupy.int32).data.ptr)
            ),
        )


def _on_device(call: str, handle: Any, given: tuple[Any, ...]) -> None:
    """Call cuBLAS with its result in device memory."""
    blas.setPointerMode(handle, blas.CUBLAS_POINTER_MODE_DEVICE)
    try:
        getattr(blas, call)(handle, *given)
    finally:
        blas.setPointerMode(handle, blas.CUBLAS_POINTER_MODE_HOST)


if __name__ == "__main__":
    cupy.cuda.set_allocator(kept)
    part = {"texts": texts, "ufuncs": ufuncs, "arrays": arrays, "libraries": libraries}[sys.argv[1]]
    run_all(part(), cupy.cuda.Device().synchronize)

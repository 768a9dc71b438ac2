"""CuPy: a heat equation, a sparse solver, transforms, random numbers, streams with pinned memory. Prints results."""

import cupy as cp
import cupyx
import numpy as np
from cupyx.scipy import sparse
from cupyx.scipy.sparse import linalg

SIDE = 128

heat = cp.ElementwiseKernel(
    "raw float32 old, float32 rate, int32 side",
    "float32 out",
    """
    int x = i % side, y = i / side;
    bool edge = x == 0 || y == 0 || x == side - 1 || y == side - 1;
    float around = edge ? 0 : old[i - 1] + old[i + 1] + old[i - side] + old[i + side] - 4 * old[i];
    out = old[i] + rate * around;
    """,
    "heat",
)


def diffused() -> None:
    """Let heat spread."""
    old = cp.zeros((SIDE, SIDE), dtype=cp.float32)
    old[SIDE // 2, SIDE // 2] = 1000
    new = cp.empty_like(old)
    for _ in range(50):
        heat(old, cp.float32(0.2), cp.int32(SIDE), new)
        old, new = new, old
    print("heat", round(float(old.sum())))


def solved() -> None:
    """Solve a Poisson problem by conjugate gradients."""
    count = 400
    main, off = cp.full(count, 2.1), cp.full(count - 1, -1.0)
    matrix = sparse.diags([off, main, off], [-1, 0, 1], format="csr")
    right = cp.ones(count)
    answer, failed = linalg.cg(matrix, right, maxiter=1000)
    print("solved", failed, bool(cp.linalg.norm(matrix @ answer - right) < 1e-3))


def transformed() -> None:
    """Go to the frequencies and back."""
    cp.random.seed(0)
    signal = cp.random.standard_normal((16, 1024))
    back = cp.fft.irfft(cp.fft.rfft(signal))
    print("transformed", bool(cp.allclose(signal, back)), round(float(cp.linalg.svd(signal[:, :16])[1].min()), 3) > 0)


def streamed() -> None:
    """Work on two streams, from and to pinned memory."""
    streams = [cp.cuda.Stream(non_blocking=True) for _ in range(2)]
    results = [cupyx.zeros_pinned(1 << 14, dtype=np.float32) for _ in range(4)]
    for number, result in enumerate(results):
        stream = streams[number % 2]
        source = cupyx.empty_pinned(1 << 14, dtype=np.float32)
        source[:] = number + 1
        with stream:
            values = cp.empty(1 << 14, dtype=cp.float32)
            values.set(source, stream=stream)
            values = cp.sqrt(values * values) + 1
            values.get(stream=stream, out=result)
        stream.synchronize()
    print("streamed", [float(result.sum()) / (1 << 14) for result in results])


diffused()
solved()
transformed()
streamed()

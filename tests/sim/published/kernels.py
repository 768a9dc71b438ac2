"""Bodies for the kernels of NVIDIA's published CUDA Python examples and binding tests, in NumPy.

They do what the kernels are for, in one step for all threads; `bench/published_examples.py` passes this file as
`--kernels`. Pointers are views to the end of their allocation, so every body cuts them to what the launch covers.
"""

from __future__ import annotations

import numpy as np

# ruff: noqa: N803 - parameters are named as the kernels name theirs, where that helps to tell them apart


def add(a, b, c, n):
    """Vector sum."""
    c[:n] = a[:n] + b[:n]


def saxpy(a, x, y, out, n, launch):
    """Scaled sum. Callers pass a 32-bit count where 64 bits are read: the threads of the launch are the limit."""
    n = min(n, launch.threads)
    out[:n] = np.float32(a) * x[:n] + y[:n]


def double(src, dst, launch):
    """Twice the source, one element for each thread."""
    n = launch.threads
    dst[:n] = src[:n] * np.float32(2)


def increment(data, by, launch):
    """Add a number to one element for each thread."""
    data[: launch.threads] += by


def copy(target, source, n):
    """Copy elements."""
    target[:n] = source[:n]


def block_sums(source, sums, n, count, launch):
    """Sum what each block of a grid-stride loop meets."""
    blocks, threads = launch.grid[0], launch.block[0]
    padded = np.zeros(-(-n // launch.threads) * launch.threads, np.float64)
    padded[:n] = source[:n]
    used = min(blocks, count)
    sums[:used] = padded.reshape(-1, blocks, threads).sum(axis=(0, 2))[:used]


def total(source, result, n):
    """Sum all."""
    result[0] = source[:n].sum()


def multiply(C, A, B, width_a, width_b):
    """Product of two row-major matrices that fill their allocations."""
    height = len(A) // width_a
    product = A[: height * width_a].reshape(height, width_a) @ B[: width_a * width_b].reshape(width_a, width_b)
    C[: height * width_b] = product.reshape(-1)


def wmma_bf16(A, B, C, D, m, n, k, alpha, beta):
    """D = alpha A B + beta C: A and B of bfloat16, B by columns. Only PTX declares it: views are bytes."""

    def single(bytes_, rows, columns):
        words = bytes_.view(np.uint16)[: rows * columns].astype(np.uint32) << 16
        return words.view(np.float32).reshape(rows, columns)

    a, b = single(A, m, k), single(B, n, k).T
    c = C.view(np.float32)[: m * n].reshape(m, n)
    D.view(np.float32)[: m * n] = (np.float32(alpha) * (a @ b) + np.float32(beta) * c).reshape(-1)


def count_letters(count, text, n):
    """Count x, y, z and w. Only PTX declares it: views are bytes."""
    count.view(np.int32)[0] += int(np.isin(text[:n], np.frombuffer(b"xyzw", np.uint8)).sum())


def timed_reduction(source, output, timer, launch):
    """The minimum of the source for every block, and a time before and after it."""
    blocks, n = launch.grid[0], 2 * launch.block[0]
    output[:blocks] = source[:n].min()
    timer[:blocks] = 0
    timer[blocks : 2 * blocks] = 1


def odd_even(source, odds, sums, n):
    """Count the odd numbers; sum the odd and the even ones."""
    odd = source[:n] % 2 == 1
    odds[0] += int(odd.sum())
    sums[0] += int(source[:n][odd].sum())
    sums[1] += int(source[:n][~odd].sum())


def atomics(array, launch):
    """Fifty rounds of each atomic operation by every thread, in the order of the threads."""
    threads, rounds = launch.threads, 50
    ids = np.arange(threads, dtype=np.int64)
    array[0] += 10 * threads * rounds
    array[1] = threads - 1
    array[2] = max(int(array[2]), threads - 1)
    array[3] = min(int(array[3]), 0)
    array[4] = (int(array[4]) + threads * rounds) % 18
    array[5] = (int(array[5]) - threads * rounds) % 138
    array[6] = threads - 1
    array[7] &= int(np.bitwise_and.reduce(2 * ids + 7))
    array[8] = -1  # every bit: there are more than 32 threads
    if rounds % 2:
        array[9] ^= int(np.bitwise_xor.reduce(ids))
    # An even number of rounds undoes itself.


def conjugate_gradient(rows, columns, values, x, product, direction, residual, dot, nonzeros, n, tolerance):
    """Solve a symmetric system in compressed rows, as far as 10,000 steps lead."""
    starts, at, weights = rows[:n], columns[:nonzeros], values[:nonzeros]

    def applied(vector):
        return np.add.reduceat(weights * vector[at], starts).astype(np.float32)

    product[:n] = applied(x[:n])
    residual[:n] -= product[:n]
    squared = float(residual[:n].astype(np.float64) @ residual[:n])
    before = 0.0
    for step in range(10000):
        if squared <= tolerance * tolerance:
            break
        direction[:n] = residual[:n] + (np.float32(squared / before) * direction[:n] if step else 0)
        product[:n] = applied(direction[:n])
        length = np.float32(squared / float(direction[:n].astype(np.float64) @ product[:n]))
        x[:n] += length * direction[:n]
        residual[:n] -= length * product[:n]
        before, squared = squared, float(residual[:n].astype(np.float64) @ residual[:n])
    dot[0] = squared


def source_wavelet(x, step, frequency, n):
    """A pulse that begins after 60 ms."""
    argument = 1e-3 * np.abs(np.arange(n) - int(60 / step)) * 0.5 * frequency
    x[:n] = 1000 * np.exp(-2 * argument * argument) * np.cos(2 * np.pi * argument)


def inject(field, source, step):
    """Put one sample of the source into the field."""
    field[0] = source[step]


def constant_velocity(velocity, factor, depth, width, stride, launch):
    """The same velocity wherever a thread is."""
    across, down = launch.grid[0] * launch.block[0], launch.grid[1] * launch.block[1]
    for level in range(depth):
        plane = velocity[level * stride :][: down * width]
        np.lib.stride_tricks.as_strided(plane, (down, across), (4 * width, 4))[:] = np.float32(9 * factor)


def set_flag(launch):
    """Set the flag that lies beside the kernel."""
    launch.variable("isDone")[0] = 1


def keep_parameters(*given):
    """Store every value behind the pointer of the same rank; a pointer among the values is not followed."""
    values, pointers = given[:16], given[17:]
    for value, pointer in zip(values, pointers, strict=True):
        pointer[0] = value


def store_structures(error, errors, surface, surfaces, size, sizes):
    """Store an enumerator, a handle and a structure."""
    errors[0], surfaces[0], sizes[0] = error, surface, size


def store_structure(source, target):
    """Store a structure."""
    target[0] = source


def store_three(number, numbers, real, reals, structure, structures):
    """Store a number, a real and a structure."""
    numbers[0], reals[0], structures[0] = number, real, structure


SIMULATED_KERNELS = {
    "vectorAddGPU": add,
    "VecAdd_kernel": add,
    "saxpy": saxpy,
    "SimpleKernel": double,
    "increment_kernel": increment,
    "testKernel": copy,
    "reduce": block_sums,
    "reduceFinal": total,
    "MatrixMulAsyncCopyMultiStageLargeChunk": multiply,
    "MatrixMulAsyncCopyLargeChunk": multiply,
    "MatrixMulAsyncCopyLargeChunkAWBarrier": multiply,
    "MatrixMulAsyncCopyMultiStageSharedState": multiply,
    "MatrixMulAsyncCopyMultiStage": multiply,
    "MatrixMulAsyncCopySingleStage": multiply,
    "MatrixMulNaive": multiply,
    "MatrixMulNaiveLargeChunk": multiply,
    "simple_wmma_bf16gemm": wmma_bf16,
    "xyzw_frequency": count_letters,
    "timedReduction": timed_reduction,
    "oddEvenCountAndSumCG": odd_even,
    "atomicKernel": atomics,
    "gpuConjugateGradient": conjugate_gradient,
    "createSource": source_wavelet,
    "injectSource": inject,
    "createVelocity": constant_velocity,
    "empty_kernel": set_flag,
    "basic": keep_parameters,
    "structsCuda": store_structures,
    "structCustom": store_structure,
    "testkernel": store_three,
}

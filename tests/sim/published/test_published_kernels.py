"""The bodies for published kernels compute what those kernels compute."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import kernels


def shape(grid: int, block: int) -> SimpleNamespace:
    return SimpleNamespace(grid=(grid, 1, 1), block=(block, 1, 1), threads=grid * block)


def test_sums_of_blocks_are_those_of_a_grid_stride_loop() -> None:
    values = np.arange(37, dtype=np.float32)
    sums, result = np.zeros(3), np.zeros(1)
    kernels.block_sums(values, sums, 37, 3, shape(3, 4))
    expected = [sum(float(values[i]) for i in range(37) if i % 12 // 4 == block) for block in range(3)]
    assert sums.tolist() == expected
    kernels.total(sums, result, 3)
    assert result[0] == values.sum()


def test_conjugate_gradient_solves() -> None:
    n = 50
    dense = np.diag(np.full(n, 10.0)) + np.diag(np.full(n - 1, 0.5), 1) + np.diag(np.full(n - 1, 0.5), -1)
    rows = np.concatenate([[0], np.cumsum((dense != 0).sum(axis=1))]).astype(np.int32)
    columns = np.nonzero(dense)[1].astype(np.int32)
    values = dense[dense != 0].astype(np.float32)
    x, product, direction = (np.zeros(n, np.float32) for _ in range(3))
    residual, dot = np.ones(n, np.float32), np.zeros(1)
    kernels.conjugate_gradient(rows, columns, values, x, product, direction, residual, dot, len(values), n, 1e-5)
    assert np.allclose(dense @ x, 1, atol=1e-5)
    assert 0 <= dot[0] <= 1e-10


def test_atomics_are_those_of_threads_one_by_one() -> None:
    threads, rounds = 64, 50
    expected = [0] * 7
    for _ in range(rounds):
        for thread in range(threads):
            expected[0] += 10
            expected[2] = max(expected[2], thread)
            expected[3] = min(expected[3], thread)
            expected[4] = 0 if expected[4] >= 17 else expected[4] + 1
            expected[5] = 137 if expected[5] == 0 or expected[5] > 137 else expected[5] - 1
    array = np.zeros(10, np.int32)
    array[7] = array[9] = 0xFF
    kernels.atomics(array, shape(1, threads))
    assert [int(array[i]) for i in (0, 2, 3, 4, 5)] == [expected[i] for i in (0, 2, 3, 4, 5)]
    bits = 0xFF
    for thread in range(threads):
        bits &= 2 * thread + 7
    assert [int(array[i]) for i in (7, 8, 9)] == [bits, -1, 0xFF]


def test_odd_and_even() -> None:
    odds, sums = np.zeros(1, np.int32), np.zeros(2, np.int32)
    kernels.odd_even(np.arange(10, dtype=np.int32), odds, sums, 10)
    assert (odds[0], sums.tolist()) == (5, [25, 20])

"""A pool in Python that says what it hands out, recorded: findings name the lines at which the program called it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from expectations import Expectations
from fake_device import FakeDevice

PROGRAM = """\
import ctypes, sys
import streamsan.pools
cuda = ctypes.CDLL("libcudart.so.13")
what = sys.argv[1]
class Stream:
    def __init__(self):
        made = ctypes.c_void_p()
        cuda.cudaStreamCreateWithFlags(ctypes.byref(made), 1)
        self.ptr = made.value
def memory():
    made = ctypes.c_void_p()
    cuda.cudaMalloc(ctypes.byref(made), ctypes.c_size_t(4096))
    return made.value
class Pool:
    def __init__(self):
        self.block = memory()
    def take(self, stream):
        streamsan.pools.hand_out(self.block, 4096, stream)
        return self.block
    def use(self, block, stream):
        streamsan.pools.record_stream(block, stream)
    def give(self, block, stream):
        streamsan.pools.take_back(block, stream)
def fill(address, stream):
    cuda.cudaMemsetAsync(ctypes.c_void_p(address), 1, ctypes.c_size_t(4096), ctypes.c_void_p(stream.ptr))
pool, other, main, side = Pool(), memory(), Stream(), Stream()
block = pool.take(main)
fill(block if what.startswith("seen") else other, side)
if what.startswith("told"):
    pool.use(block, side)
pool.give(block, main)  # expect: SS105
if what.endswith("right"):
    cuda.cudaStreamSynchronize(ctypes.c_void_p(side.ptr))
block = pool.take(main)
fill(block, main)
pool.give(block, main)
cuda.cudaDeviceSynchronize()
for each in (pool.block, other):
    cuda.cudaFree(ctypes.c_void_p(each))
for each in (main, side):
    cuda.cudaStreamDestroy(ctypes.c_void_p(each.ptr))
"""
TOLD = next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.strip() == "pool.use(block, side)")


@pytest.mark.parametrize("what", ["seen-wrong", "told-wrong", "seen-right", "told-right", "untold"])
def test_a_pool_in_python(fake_device: FakeDevice, tmp_path: Path, what: str) -> None:
    (tmp_path / "own_pool.py").write_text(PROGRAM)
    ran = fake_device.run(tmp_path, [sys.executable, "own_pool.py", what])
    assert (ran.status, ran.errors) == (0, "")
    assert ran.loud == (Expectations.of(PROGRAM).loud if what.endswith("wrong") else set()), ran.report["findings"]
    if what == "told-wrong":
        (finding,) = [each for each in ran.report["findings"] if each["code"] == "SS105"]
        assert [each["line"] for each in finding["related"] if each["role"] == "record"] == [TOLD]
        assert finding["fix"]["verified"]

"""A device's addresses that the driver gave back, and that the system has handed out for the process's own memory."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fake_device import FakeDevice

PROGRAM = """\
import ctypes, sys
is_hosts = sys.argv[1] == "right"
cuda, libc = ctypes.CDLL("libcudart.so.13"), ctypes.CDLL(None)
size, page = 8 << 20, 4096
def memory():
    made = ctypes.c_void_p()
    cuda.cudaMalloc(ctypes.byref(made), ctypes.c_size_t(size))
    return made.value
def protect(begin, rights):
    first = -(-begin // page) * page
    assert libc.mprotect(ctypes.c_void_p(first), ctypes.c_size_t(size - page), rights) == 0
used, freed = memory(), memory()
protect(freed, 0)  # as memory of a device is
cuda.cudaFree(ctypes.c_void_p(freed))
if is_hosts:
    protect(freed, 3)  # as if the heap had got it
inside = freed + (4 << 20)
kind = 1 if is_hosts else 3
cuda.cudaMemcpyAsync(ctypes.c_void_p(used), ctypes.c_void_p(inside), ctypes.c_size_t(4096), kind, None)
cuda.cudaDeviceSynchronize()
protect(freed, 3)
cuda.cudaFree(ctypes.c_void_p(used))
"""


@pytest.mark.parametrize(("what", "found"), [("right", set()), ("wrong", {"SS101"})])
def test_the_hosts_own_memory_there_is_not_the_devices(
    fake_device: FakeDevice, tmp_path: Path, what: str, found: set[str]
) -> None:
    (tmp_path / "copies.py").write_text(PROGRAM)
    ran = fake_device.run(tmp_path, [sys.executable, "copies.py", what])
    assert {code for _, code in ran.loud} == found, ran.report["findings"]

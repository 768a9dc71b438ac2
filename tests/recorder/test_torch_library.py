"""The recorder beside PyTorch's own allocator: `libc10_cuda.so` on the fake device, without the rest of PyTorch.

Where PyTorch for CUDA 13 is installed, or STREAMSAN_TORCH_LIBRARY names the file, which has `libc10.so` beside it.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from expectations import Expectations
from fake_device import FakeDevice
from host_compiler import COMPILER

PROGRAM = """\
import ctypes, sys
from elftools.elf.elffile import ELFFile
library, what = sys.argv[1:]
runtime = ctypes.CDLL("libcudart.so.13", mode=ctypes.RTLD_GLOBAL)
loaded = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
with open(library, "rb") as file:
    names = {each.name: each["st_value"] for each in ELFFile(file).get_section_by_name(".symtab").iter_symbols()}
VARIABLE = "_ZN3c104cuda20CUDACachingAllocator9allocatorE"
base = ctypes.addressof(ctypes.c_void_p.in_dll(loaded, VARIABLE)) - names[VARIABLE]
allocator = ctypes.c_void_p.in_dll(loaded, VARIABLE).value
def method(name, result, *arguments):
    mangled = "_ZN3c104cuda20CUDACachingAllocator6Native22NativeCachingAllocator" + name
    return ctypes.CFUNCTYPE(result, ctypes.c_void_p, *arguments)(base + names[mangled])
take = method("9raw_allocEm", ctypes.c_void_p, ctypes.c_size_t)
give = method("10raw_deleteEPv", None, ctypes.c_void_p)
method("4initEi", None, ctypes.c_int)(allocator, 1)
fill = runtime.cudaMemsetAsync
fill.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p)
def stream():
    made = ctypes.c_void_p()
    runtime.cudaStreamCreateWithFlags(ctypes.byref(made), 1)
    return made
side, main = stream(), stream()
large = take(allocator, 3 << 20)
small = take(allocator, 4096)
fill(small, 1, 4096, side)
give(allocator, small)  # expect: SS105
again = take(allocator, 4000)
assert again == small
if what == "right":
    runtime.cudaStreamSynchronize(side)
fill(again, 1, 4000, main)
runtime.cudaDeviceSynchronize()
give(allocator, again)
give(allocator, large)
"""
STUBS = """\
#include <stddef.h>
#include <string.h>
int cudaGetDevice(int* device) { *device = 0; return 0; }
int cudaGetDeviceCount(int* count) { *count = 1; return 0; }
int cudaMemGetInfo(size_t* unused, size_t* all) { *unused = *all = (size_t)1 << 34; return 0; }
int cudaStreamIsCapturing(void* stream, int* status) { (void)stream; *status = 0; return 0; }
int cudaStreamGetCaptureInfo(void* stream, int* status, ...) { (void)stream; *status = 0; return 0; }
int cudaThreadExchangeStreamCaptureMode(int* mode) { (void)mode; return 0; }
int cudaGetDeviceProperties(void* into, int device) { (void)device; memset(into, 0, 1000); return 0; }
int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) { *least = 0; *greatest = -5; return 0; }
"""


def torch_library() -> Path | None:
    """Return PyTorch's library, None where there is none."""
    if named := os.environ.get("STREAMSAN_TORCH_LIBRARY"):
        return Path(named)
    torch = importlib.util.find_spec("torch")
    if torch is None or not torch.submodule_search_locations:
        return None
    found = Path(torch.submodule_search_locations[0], "lib", "libc10_cuda.so")
    return found if found.exists() else None


def names_in(library: Path, defined: bool) -> set[str]:
    """Return the runtime's functions that a library has, or that it needs."""
    with library.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".dynsym")
        return {
            symbol.name
            for symbol in table.iter_symbols()
            if symbol.name.startswith("cuda") and (symbol["st_shndx"] != "SHN_UNDEF") == defined
        }


@pytest.fixture(scope="module")
def library() -> Path:
    """Return PyTorch's library; the test is skipped where it is not here, or is of another CUDA than the fake one."""
    found = torch_library()
    if found is None:
        pytest.skip("PyTorch for CUDA is not installed, and STREAMSAN_TORCH_LIBRARY names no libc10_cuda.so")
    with found.open("rb") as file:
        needed = {tag.needed for tag in ELFFile(file).get_section_by_name(".dynamic").iter_tags("DT_NEEDED")}
    if "libcudart.so.13" not in needed:
        pytest.skip("PyTorch is one for another CUDA than 13")
    return found


@pytest.fixture(scope="module")
def stubs(library: Path, fake_device: FakeDevice, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library with the runtime's functions that the fake device lacks."""
    made = tmp_path_factory.mktemp("stubs") / "libstubs.so"
    lacking = names_in(library, False) - names_in(fake_device.folder / "lib64" / "libcudart.so.13", True)
    others = [f"int {name}(void) {{ return 801; }}\n" for name in sorted(lacking) if f" {name}(" not in STUBS]
    assert COMPILER is not None
    command = [COMPILER, "-shared", "-fPIC", "-x", "c", "-", "-o", made]
    subprocess.run(command, input=STUBS + "".join(others), text=True, check=True)
    return made


@pytest.mark.parametrize("what", ["wrong", "right"])
def test_blocks_of_the_real_allocator(
    library: Path, stubs: Path, fake_device: FakeDevice, tmp_path: Path, what: str
) -> None:
    program = tmp_path / "uses_torch_library.py"
    program.write_text(PROGRAM)
    environment = {
        "LD_LIBRARY_PATH": f"{fake_device.folder / 'lib64'}:{library.parent}",
        "LD_PRELOAD": str(stubs),
    }
    ran = fake_device.run(tmp_path, [sys.executable, str(program), str(library), what], environment=environment)
    assert ran.status == 0, ran.errors
    assert ran.loud == (Expectations.of(PROGRAM).loud if what == "wrong" else set()), ran.report["findings"]
    assert "PyTorch" not in ran.errors

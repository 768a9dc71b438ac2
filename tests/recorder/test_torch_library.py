"""The recorder beside PyTorch's own allocator: `libc10_cuda.so` on the fake device, without the rest of PyTorch.

Of the versions that `python tests/torch_libraries.py` has fetched; and of the one that is installed, or that
STREAMSAN_TORCH_LIBRARY names, which has `libc10.so` beside it.
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
from fake_device import FakeDevice, Ran
from torch_beside import FAKE_RUNTIME, Beside
from torch_libraries import VERSIONS, cached

PROGRAM = """\
import ctypes, sys
from elftools.elf.elffile import ELFFile
library, names_from, runtime_name, what = sys.argv[1:]
runtime = ctypes.CDLL(runtime_name, mode=ctypes.RTLD_GLOBAL)
loaded = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
with open(names_from, "rb") as file:
    names = {each.name: each["st_value"] for each in ELFFile(file).get_section_by_name(".symtab").iter_symbols()}
VARIABLE = "_ZN3c104cuda20CUDACachingAllocator9allocatorE"
base = ctypes.addressof(ctypes.c_void_p.in_dll(loaded, VARIABLE)) - names[VARIABLE]
allocator = ctypes.c_void_p.in_dll(loaded, VARIABLE).value
word, pointer = ctypes.c_uint64, ctypes.c_void_p
def method(name, result, *arguments):
    mangled = "_ZN3c104cuda20CUDACachingAllocator6Native22NativeCachingAllocator" + name
    return ctypes.CFUNCTYPE(result, pointer, *arguments)(base + names[mangled])
take = method("9raw_allocEm", pointer, ctypes.c_size_t)
take_on = method("21raw_alloc_with_streamEmP11CUstream_st", pointer, ctypes.c_size_t, pointer)
give = method("10raw_deleteEPv", None, pointer)
BEGIN = "19beginAllocateToPoolEaSt4pairIyyESt8functionIFbP11CUstream_stEE"
begin = method(BEGIN, None, ctypes.c_int8, word, word, pointer)
end = method("17endAllocateToPoolEaSt4pairIyyE", None, ctypes.c_int8, word, word)
method("4initEi", None, ctypes.c_int)(allocator, 1)
manager = ctypes.CFUNCTYPE(ctypes.c_bool, pointer, pointer, ctypes.c_int)(lambda *_: False)
caller = ctypes.CFUNCTYPE(ctypes.c_bool, pointer, pointer)(lambda *_: True)
fill = runtime.cudaMemsetAsync
fill.argtypes = (pointer, ctypes.c_int, ctypes.c_size_t, pointer)
def stream():
    made = pointer()
    runtime.cudaStreamCreateWithFlags(ctypes.byref(made), 1)
    return made
class Pool:
    def __init__(self, number):
        self.number = number
    def __enter__(self):
        # std::function<bool(cudaStream_t)> that says yes; it is moved away
        always = (pointer * 4)(0, 0, ctypes.cast(manager, pointer), ctypes.cast(caller, pointer))
        begin(allocator, 0, 0, self.number, ctypes.addressof(always))
    def __exit__(self, *_):
        end(allocator, 0, 0, self.number)
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
with Pool(7):  # as torch.cuda.MemPool
    apart = take(allocator, 4096)
    fill(apart, 1, 4096, side)
    give(allocator, apart)  # expect: SS105
    assert take(allocator, 4096) == apart
    if what == "right":
        runtime.cudaStreamSynchronize(side)
    fill(apart, 1, 4096, main)
    runtime.cudaDeviceSynchronize()
give(allocator, again)
give(allocator, large)
graph, executable = pointer(), pointer()
runtime.cudaStreamBeginCapture(main, 2)
with Pool(8):
    inside = take_on(allocator, 4096, main)
    fill(inside, 1, 4096, main)
    give(allocator, inside)
runtime.cudaStreamEndCapture(main, ctypes.byref(graph))
runtime.cudaGraphInstantiate(ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
for _ in range(2):
    runtime.cudaGraphLaunch(executable, main)
    with Pool(8):  # what the graph has
        assert take_on(allocator, 4096, main) == inside
    fill(inside, 1, 4096, main)
    give(allocator, inside)
runtime.cudaDeviceSynchronize()
"""
"""With what its graph has nothing is wrong."""


def installed() -> Path | None:
    """Return the library that is named or installed, None where there is none."""
    if named := os.environ.get("STREAMSAN_TORCH_LIBRARY"):
        return Path(named)
    torch = importlib.util.find_spec("torch")
    if torch is None or not torch.submodule_search_locations:
        return None
    found = Path(torch.submodule_search_locations[0], "lib", "libc10_cuda.so")
    return found if found.exists() else None


def run(beside: Beside, folder: Path, what: str, library: Path | None = None) -> Ran:
    """Record the program; `library`: the same build, less its names."""
    program = folder / "uses_torch_library.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), str(library or beside.library), str(beside.library), FAKE_RUNTIME, what]
    return beside.device.run(folder, command, environment=beside.environment)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("installed", id="installed"),
        *(pytest.param(version, marks=() if version == VERSIONS[-1] else pytest.mark.deep) for version in VERSIONS),
    ],
)
def beside(request: pytest.FixtureRequest, fake_device: FakeDevice, tmp_path_factory: pytest.TempPathFactory) -> Beside:
    """Return a build of PyTorch's library; the test is skipped where that is not here."""
    if request.param == "installed":
        library = installed()
        if library is None:
            pytest.skip("PyTorch for CUDA is not installed, and STREAMSAN_TORCH_LIBRARY names no libc10_cuda.so")
    else:
        library = cached(request.param)
        if not library.exists():
            pytest.skip(f"the libraries of PyTorch {request.param} were not fetched: python tests/torch_libraries.py")
    return Beside(fake_device, library, tmp_path_factory.mktemp("stubs"))


def tells_pools(beside: Beside) -> bool:
    """Return whether the entries of the build tell the pool of a block."""
    with beside.library.open("rb") as file:
        names = ELFFile(file).get_section_by_name(".symtab").iter_symbols()
        return any("12record_traceE" in each.name and "St4pairIyyE" in each.name for each in names)


@pytest.mark.parametrize("what", ["wrong", "right"])
def test_blocks_of_the_real_allocator(beside: Beside, tmp_path: Path, what: str) -> None:
    ran = run(beside, tmp_path, what)
    assert ran.status == 0, ran.errors
    assert ran.loud == (Expectations.of(PROGRAM).loud if what == "wrong" else set()), ran.report["findings"]
    assert ("PyTorch" in ran.errors) == (not tells_pools(beside)), ran.errors
    if not tells_pools(beside):
        assert "from the first capture of a graph on" in ran.errors


def test_a_stripped_build_of_it(beside: Beside, tmp_path: Path) -> None:
    stripped = tmp_path / "libc10_cuda.so"
    subprocess.run(["strip", "--strip-all", "-o", stripped, beside.library], check=True)
    ran = run(beside, tmp_path, "wrong", stripped)
    assert ran.status == 0, ran.errors
    assert ran.loud == Expectations.of(PROGRAM).loud, ran.report["findings"]
    assert "recorded without their streams" in ran.errors

"""PyTorch's own allocator on the fake device: what `libc10_cuda.so` needs to be loaded without the rest of PyTorch."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile

from fake_device import FakeDevice
from host_compiler import COMPILER

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
FAKE_RUNTIME = "libcudart.so.13"


def names_in(library: Path, defined: bool) -> set[str]:
    """Return the runtime's functions that a library has, or that it needs."""
    with library.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".dynsym")
        return {
            symbol.name
            for symbol in table.iter_symbols()
            if symbol.name.startswith("cuda") and (symbol["st_shndx"] != "SHN_UNDEF") == defined
        }


def runtime_of(library: Path) -> str:
    """Return the name of the runtime's library that a library needs."""
    with library.open("rb") as file:
        needed = [tag.needed for tag in ELFFile(file).get_section_by_name(".dynamic").iter_tags("DT_NEEDED")]
    return next(name for name in needed if name.startswith("libcudart.so."))


@dataclass(frozen=True)
class Beside:
    """A build of PyTorch's library, and what it needs to be loaded on the fake device."""

    device: FakeDevice
    library: Path
    folder: Path

    def __post_init__(self) -> None:
        assert COMPILER is not None
        lacking = names_in(self.library, False) - names_in(self.device.folder / "lib64" / FAKE_RUNTIME, True)
        others = [f"int {name}(void) {{ return 801; }}\n" for name in sorted(lacking) if f" {name}(" not in STUBS]
        command = [COMPILER, "-shared", "-fPIC", "-x", "c", "-"]
        stubs = [*command, "-o", self.stubs]
        subprocess.run(stubs, input=STUBS + "".join(others), text=True, check=True)
        runtime = runtime_of(self.library)
        if runtime != FAKE_RUNTIME:  # the functions are those of the fake one
            named = [*command, "-o", self.folder / runtime, f"-Wl,-soname,{runtime}"]
            subprocess.run(named, input="", text=True, check=True)

    @property
    def stubs(self) -> Path:
        """A library with the runtime's functions that the fake device lacks."""
        return self.folder / "libstubs.so"

    @property
    def environment(self) -> dict[str, str]:
        """What a program that loads it needs in its environment, beside the fake device's own."""
        libraries = f"{self.device.folder / 'lib64'}:{self.folder}:{self.library.parent}"
        return {"LD_LIBRARY_PATH": libraries, "LD_PRELOAD": str(self.stubs)}

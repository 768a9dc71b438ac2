"""Native programs that the tests of this folder compile, and recordings of stacks in them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile

from host_compiler import COMPILER
from streamsan.trace import Site, Thread
from streamsan.trace.modules import Module
from streamsan.trace.symboliser.elf import build_id
from streamsan.trace.writer import TraceWriter

SOURCE = """\
#include <dlfcn.h>
#include <link.h>
#include <cstdio>
// Prints the address of the call as in the module's file, as a recorder would take it.
[[gnu::noinline]] void sink(const char* name) {
    char* address = static_cast<char*>(__builtin_return_address(0)) - 1;
    Dl_info info;
    link_map* map = nullptr;
    dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP);
    std::printf("%s %zu\\n", name, reinterpret_cast<size_t>(address) - map->l_addr);
}
namespace pool {
template <class T> struct Buffer {
    inline void release() {
        sink("release");
        asm volatile("");
    }
    ~Buffer() {
        release();
    }
};
}  // namespace pool
static inline void helper(pool::Buffer<float>& buffer) {
    buffer.release();
}
[[gnu::noinline]] static void plain(int count) {
    sink("plain");
    if (count > 5) sink("never");
}
int main(int count, char**) {
    pool::Buffer<float> buffer;
    helper(buffer);
    plain(count);
    auto lambda = [&](int value) __attribute__((noinline)) {
        sink("lambda");
        asm volatile("" : : "r"(value));
    };
    lambda(count);
    asm volatile("");
}
"""


def line_of(text: str) -> int:
    """Return the number of the one line of SOURCE that has `text`."""
    (number,) = (number for number, line in enumerate(SOURCE.splitlines(), 1) if text in line)
    return number


@dataclass(frozen=True)
class Program:
    """A compiled program, and the offsets that it printed, in order."""

    module: Module
    source: str
    calls: tuple[tuple[str, int], ...]

    def offsets(self, name: str) -> list[int]:
        """Return the offsets of the calls of this name."""
        return [offset for call, offset in self.calls if call == name]


def compiled(folder: Path, options: Sequence[str]) -> Program:
    """Compile SOURCE in a folder and run it."""
    assert COMPILER
    source, path = folder / "program.cpp", folder / "program"
    source.write_text(SOURCE)
    command = [COMPILER, "-std=c++17", "-Wl,--build-id", *options, str(source), "-o", str(path), "-ldl"]
    subprocess.run(command, check=True, cwd=folder, timeout=120)
    return ran(path, str(source))


def ran(path: Path, source: str) -> Program:
    """Run a program and return what it printed."""
    printed = subprocess.run([str(path)], check=True, stdout=subprocess.PIPE, text=True, timeout=60).stdout
    calls = tuple((line.split()[0], int(line.split()[1])) for line in printed.splitlines())
    return Program(Module(str(path), identity(path)), source, calls)


def identity(path: Path) -> str:
    with path.open("rb") as file:
        return build_id(ELFFile(file))


def record(path: Path, program: Program, *, close: bool = True, process: int = 0) -> list[int]:
    """Write a recording whose sites are the program's calls, each below a frame of Python; return their ids."""
    metadata = {"process": process} if process else {}
    writer = TraceWriter(path, origin="recording", metadata=metadata)
    writer.add_threads([Thread(0, "main")])
    writer.add_modules([program.module])
    sites = [Site("/usr/lib/python3.11/runpy.py", 86, function="_run_code")]
    sites += [Site("", 0, caller=1, module=1, offset=offset, label="kernel") for _, offset in program.calls]
    writer.add_sites(sites)
    if close:
        writer.close()
    else:
        writer.abandon()
    return list(range(2, 2 + len(program.calls)))

"""What does PyTorch's telling of a block cost, and the recording of it? Counted in instructions, without a GPU.

`python bench/told_blocks.py [--python PYTHON ...] [--frames N ...]` runs the real allocator (the library that
`python tests/torch_libraries.py` has fetched) on the tests' fake device, under valgrind: each block is made and dropped
in Python, so many frames deep. Two runs of different length are compared, so what begins and ends them is not
counted; two runs of one length differ by some hundred thousand instructions, so with few blocks (`--blocks`) the answer
is rough. Prints the instructions of one block in the plain program, and how many more they are with `--no-sites` and
with call sites. Needs valgrind and a C++ compiler.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from elftools.elf.elffile import ELFFile

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from fake_device import build
from torch_beside import FAKE_RUNTIME, Beside
from torch_libraries import VERSIONS, cached

HERE = Path(__file__).resolve().parent
VARIABLE = "_ZN3c104cuda20CUDACachingAllocator9allocatorE"
NATIVE = "_ZN3c104cuda20CUDACachingAllocator6Native22NativeCachingAllocator"
FUNCTIONS = ("4initEi", "9raw_allocEm", "10raw_deleteEPv")
WAYS: dict[str, tuple[str, ...] | None] = {"plain": None, "--no-sites": ("--no-sites",), "streamsan run": ()}
SHORT = 2000
"""blocks of the shorter run"""


def places(library: Path) -> str:
    """Return where the functions lie, beside the variable."""
    with library.open("rb") as file:
        symbols = ELFFile(file).get_section_by_name(".symtab").iter_symbols()
        values = {symbol.name: symbol["st_value"] for symbol in symbols}
    return ",".join(str(values[NATIVE + name] - values[VARIABLE]) for name in FUNCTIONS)


def instructions(beside: Beside, python: str, options: Sequence[str] | None, blocks: int, frames: int) -> int:
    """Run so many blocks, recorded with these options or, for None, plainly; return the instructions."""
    library = str(beside.library)
    program = [python, str(HERE / "recorder" / "allocator_blocks.py"), library, FAKE_RUNTIME, places(beside.library)]
    with tempfile.TemporaryDirectory(prefix="streamsan-blocks-") as folder:
        counts = Path(folder, "counts")
        counted = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={counts}", *program, str(blocks), str(frames)]
        recorded = [sys.executable, "-m", "streamsan", "run", "--no-check", "-o", f"{folder}/run.sst"]
        command = counted if options is None else [*recorded, *options, "--", *counted]
        done = subprocess.run(
            command, env=beside.device.environment(**beside.environment), capture_output=True, text=True
        )
        if done.returncode != 0:
            sys.exit(done.stderr)
        found = re.search(r"^(?:summary|totals): (\d+)", counts.read_text(), re.M)
        assert found is not None
        return int(found[1])


def main() -> None:
    """Print a line for each Python, depth and way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", nargs="+", default=[sys.executable], help="interpreters of the program")
    parser.add_argument("--frames", nargs="+", type=int, default=[3, 14], help="how deep the blocks are made")
    parser.add_argument("--blocks", type=int, default=40_000, help="by which one of two runs is longer")
    given = parser.parse_args()
    library = next((path for path in map(cached, ("2.11.0", *VERSIONS)) if path.exists()), None)
    if library is None:
        sys.exit("the libraries were not fetched: python tests/torch_libraries.py")
    with tempfile.TemporaryDirectory(prefix="streamsan-device-") as name:
        (Path(name) / "stubs").mkdir()
        beside = Beside(build(Path(name) / "device"), library, Path(name) / "stubs")
        for python in given.python:
            for frames in given.frames:
                plain = 0
                for way, options in WAYS.items():
                    short, long = (
                        instructions(beside, python, options, blocks, frames)
                        for blocks in (SHORT, SHORT + given.blocks)
                    )
                    each = (long - short) // given.blocks
                    plain = plain or each
                    more = f"{each:6}" if way == "plain" else f"{each - plain:+6}"
                    print(f"{python}, {frames:2} frames, {way:<14} {more} instructions a block", flush=True)


if __name__ == "__main__":
    main()

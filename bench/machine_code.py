"""What kernels do with their pointers, by their text and by their machine code: two readers that share nothing.

`python bench/machine_code.py [--architecture sm_90] [FILES]` compiles sources (those of tests/litmus and tests/hardware
when none are given), reads each kernel both ways, and prints how many pointer parameters agree. Where they differ, one
of the readers is wrong, or the compiler left out an access that the text has. Needs nvcc and nvdisasm, no GPU.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.unit import read_unit
from streamsan.kernels.behaviour import KernelBehaviours
from streamsan.kernels.uses import Use
from streamsan.machine_code.cubin import read_cubin
from streamsan.machine_code.kernel_accesses import accesses_of
from streamsan.trace.symboliser.demangled import demangled
from streamsan.vocabulary import AccessMode

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("tests/litmus", "tests/hardware")
WORD = 8


def main() -> int:
    """Compare all files; exit 1 where the readers differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILES")
    parser.add_argument("--architecture", default="sm_90")
    options = parser.parse_args()
    files = options.files or [path for folder in FOLDERS for path in sorted(ROOT.joinpath(folder).glob("*.cu"))]
    counts: Counter[str] = Counter()
    for number, path in enumerate(files, 1):
        if sys.stderr.isatty():
            print(f"\r{number} of {len(files)} ", end="", file=sys.stderr)
        content = compiled(path, options.architecture)
        if content is None:
            counts["files that nvcc refuses"] += 1
            continue
        for kernel, parameter, text, code in compared(path, content):
            verdict = judged(text, code)
            counts[verdict] += 1
            if verdict == "differ":
                print(f"{path}: {kernel}, parameter `{parameter}`: text {named(text)}, machine code {named(code)}")
    for verdict, count in counts.most_common():
        print(f"{count:6} {verdict}")
    return 1 if counts["differ"] else 0


def compiled(path: Path, architecture: str) -> bytes | None:
    """The cubin that nvcc makes of a source."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "kernels.cubin")
        command = ["nvcc", f"-arch={architecture}", "-std=c++17", "-w", "-cubin", "-o", target, path]
        done = subprocess.run(command, capture_output=True, check=False)
        return target.read_bytes() if done.returncode == 0 else None


def compared(path: Path, content: bytes) -> Iterator[tuple[str, str, Use | None, Use | None]]:
    """Yield kernel, parameter, and its use by the text and by the machine code, for each pointer parameter."""
    cubin = read_cubin(content)
    if not cubin.kernels:
        return
    accesses = accesses_of(content, cubin)
    unit = read_unit(path)
    behaviours = KernelBehaviours(unit)
    texts = {each.name: each for each in functions(unit.declarations)}
    for symbol, found in accesses.items():
        places = cubin.kernels[symbol].parameters
        function = texts.get(plain_name(symbol))
        if function is None or len(function.parameters) != len(places):
            continue
        uses = behaviours.of(function).uses
        for parameter, place in zip(function.parameters, places, strict=True):
            if parameter.name in uses and place.size == WORD:
                yield plain_name(symbol), parameter.name, uses[parameter.name], found.use(place.offset)


def functions(declarations: list[tree.Statement]) -> Iterator[tree.Function]:
    """Yield the functions that have bodies."""
    for each in declarations:
        if isinstance(each, tree.Function) and each.body is not None:
            yield each


def plain_name(symbol: str) -> str:
    """A kernel's name without its types: `_Z5scalePfi` is `scale`."""
    words = demangled(symbol).replace("(anonymous namespace)::", "").partition("(")[0].partition("<")[0].split()
    return words[-1] if words else symbol


def judged(text: Use | None, code: Use | None) -> str:
    """Whether the two say the same."""
    if text is not None and text.mode is AccessMode.OPAQUE:
        return "not known by the text"
    if code is not None and code.mode is AccessMode.OPAQUE:
        return "not known by the machine code"
    return "agree" if named(text) == named(code) else "differ"


def named(use: Use | None) -> str:
    """The words for a use."""
    return "not used" if use is None else use.mode.name.lower().replace("_", " and ")


if __name__ == "__main__":
    sys.exit(main())

"""What kernels in OpenCL C do with their arguments, read from the text of their program.

The text is what the program gives to `clCreateProgramWithSource`. Where that is not in view, it is a literal of the
source that has a kernel of the name, or a `.cl` file that the source names and that lies beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from streamsan.cuda_source.device.structures import Fields
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import Value
from streamsan.kernels.opencl_texts import OpenclText, macros_of
from streamsan.model.opencl.objects import KernelText
from streamsan.model.values import Handle

_KERNEL = re.compile(r"\b(?:__)?kernel\b")
_LITERAL = re.compile(r'R"(?P<end>\w*)\((?P<raw>.*?)\)(?P=end)"|(?:"(?:[^"\\\n]|\\.)*"\s*)+', re.S)
_PIECE = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_NAMED_FILE = re.compile(r'"([^"\n]*\.(?:cl|ocl|clh))"')
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:if|include)", re.M)
LARGEST_FILE = 1 << 20


class OpenClKernels:
    """The kernels of one path's programs."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._programs: dict[Handle, str] = {}
        self._options: dict[Handle, str | None] = {}

    def program_made(self, program: Handle, structures: dict[str, Fields]) -> None:
        """Note the text that a program was made from."""
        strings = structures.get("strings", {})
        pieces = [piece for piece in strings.values() if isinstance(piece, str)]
        if pieces and len(pieces) == len(strings):
            self._programs[program] = "".join(pieces)

    def built(self, program: Handle, options: Value) -> None:
        """Note the options that a program is built with."""
        if isinstance(options, int) and options == 0:
            options = ""
        self._options[program] = options if isinstance(options, str) else None

    def text_of(self, name: str, program: Handle | None) -> KernelText:
        """Return what is known of a kernel of a program."""
        known = self.machine.program.kernel_texts
        own = self._programs.get(program, "") if program is not None else ""
        options = self._options.get(program) if program is not None else None
        key = (name, own, options)
        if key not in known:
            known[key] = self._read(name, own, options)
        found: KernelText = known[key]
        return found

    def _read(self, name: str, own: str, options: str | None) -> KernelText:
        macros: list[tuple[str, str | None]] | None = None
        with suppress(ValueError):
            macros = None if options is None else macros_of(options)
        defines = re.compile(rf"\b{re.escape(name)}\s*\(")
        for text in [own] if own else self._texts():
            if _KERNEL.search(text) and defines.search(text):
                read = OpenclText(text, macros or ())
                # What options define may decide what the text says.
                decided = macros is not None or _CONDITION.search(text) is None
                return KernelText(name, read.modes(name), partial(read.reach, name) if decided else None)
        return KernelText(name)

    def _texts(self) -> Iterator[str]:
        """Yield what may be the text of a program: literals of the source, and the files that it names."""
        unit = self.machine.program.unit
        named: list[Path] = []
        for path, text in unit.files.items():
            if path in unit.foreign:
                continue
            for match in _LITERAL.finditer(text):
                raw = match["raw"]
                yield raw if raw is not None else "".join(_decoded(piece) for piece in _PIECE.findall(match[0]))
            named += [Path(path).parent / name for name in _NAMED_FILE.findall(text)]
        for file in named:
            try:
                if file.is_file() and file.stat().st_size <= LARGEST_FILE:
                    yield file.read_text(encoding="utf-8", errors="replace")
            except (OSError, ValueError):
                continue


def _decoded(piece: str) -> str:
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), piece, flags=re.S)

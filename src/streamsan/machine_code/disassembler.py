"""Runs `nvdisasm`, NVIDIA's disassembler, and reads what it prints."""

from __future__ import annotations

import glob
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from msgspec import Struct

LONGEST = 120
"""seconds: a cubin of 2.4 MB takes 3"""
MOST_OUTPUT = 256 << 20
"""bytes: a cubin of 2.4 MB gives 8 MB"""
_MOST_MEMORY = 8 << 30
"""bytes: the cubin may be anyone's"""
_AT_ONCE = 1 << 20
_MOST_REASON = 1 << 12
_FIXED = ("/usr/local/cuda/bin/nvdisasm",)
_NO_COMMA = re.compile(r"(?<![\w.\[])(U?R(?:\d+|Z)(?:\.\w+)*)\[")
_TRITONS = ("triton", "pytorch_triton")


class DisassemblyError(Exception):
    """There is no `nvdisasm` on this machine, or it refuses the file."""


class NoDisassemblerError(DisassemblyError):
    """There is none on this machine."""


INSTRUCTION_BYTES = 16
"""of every instruction, since sm_70"""


class Instruction(Struct, frozen=True):
    """One instruction as `nvdisasm` prints it: `@!P0`, `LDG.E.64`, `("R2", "desc[UR4][R2.64]")`."""

    predicate: str
    opcode: str
    operands: tuple[str, ...]
    jumps: bool
    """a branch, a call, a return or an exit"""


def split_operands(text: str) -> tuple[str, ...]:
    """Split at the commas that are in no brackets.

    The comma between a register and an address is missing in some versions (12.8).

    >>> split_operands("R2,desc[UR4][R2.64+0x10],c[0x0][0x210]")
    ('R2', 'desc[UR4][R2.64+0x10]', 'c[0x0][0x210]')
    >>> split_operands("PT,R7[R4+0x4],R6")
    ('PT', 'R7', '[R4+0x4]', 'R6')
    """
    text = _NO_COMMA.sub(r"\1,[", text)
    parts = []
    depth = begin = 0
    for at, character in enumerate(text):
        if character in "[({":
            depth += 1
        elif character in "])}":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[begin:at].strip())
            begin = at + 1
    last = text[begin:].strip()
    return (*parts, last) if last else tuple(parts)


def disassembled(content: bytes, functions: Collection[int] = ()) -> dict[str, tuple[Instruction, ...]]:
    """The functions of a cubin by the name of their section, instructions in order. Raises `DisassemblyError`.

    `functions`: the numbers in the symbol table of those that are wanted; none: all. A disassembler that cannot do it
    (an old one knows neither JSON nor a new device) is passed over for the next.
    """
    programs = disassemblers()
    if not programs:
        raise NoDisassemblerError(
            "no nvdisasm: it comes with the CUDA toolkit, or as `pip install nvidia-cuda-nvdisasm`"
        )
    options = ["--emit-json"]
    if functions:
        options += ["--cuda-function-index", ",".join(map(str, sorted(functions)))]
    first: DisassemblyError | None = None
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(content)
        file.flush()
        for program in programs:
            try:
                return _functions(program, printed([program, *options, file.name]))
            except DisassemblyError as error:
                first = first or error
    raise first or DisassemblyError("no nvdisasm")


def _functions(program: str, output: bytes) -> dict[str, tuple[Instruction, ...]]:
    try:
        return _joined(
            (str(function["function-name"]), int(function.get("start", 0)), tuple(_instructions(function)))
            for function in json.loads(output)[1]
        )
    except (ValueError, KeyError, IndexError, TypeError, RecursionError) as error:
        raise DisassemblyError(f"{program}: prints something unknown: {error}") from None


def _joined(parts: Iterable[tuple[str, int, tuple[Instruction, ...]]]) -> dict[str, tuple[Instruction, ...]]:
    """Put the parts of a section together: up to 13.0 a function within it (a slow path of division) is listed apart.

    Each part: its name, where it starts in its section in bytes, its code.
    """
    functions: dict[str, tuple[Instruction, ...]] = {}
    whole = ""
    for name, start, code in parts:
        if start == 0:
            whole = name
            functions[name] = code
        elif whole and start == INSTRUCTION_BYTES * len(functions[whole]):
            functions[whole] += code
    return functions


def printed(command: Sequence[str]) -> bytes:
    """Run a disassembler and return what it prints. Raises `DisassemblyError`: it fails, or does not come to an end."""
    program = command[0]
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
        except OSError as error:
            raise DisassemblyError(f"{program}: {error.strerror}") from None
        with suppress(OSError, ValueError):
            resource.prlimit(process.pid, resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
        clock = threading.Timer(LONGEST, process.kill)
        clock.start()
        with process:
            output = _read(process)
            if len(output) > MOST_OUTPUT:
                process.kill()
        late = clock.finished.is_set()
        clock.cancel()
        if len(output) > MOST_OUTPUT:
            raise DisassemblyError(f"{program}: prints more than {MOST_OUTPUT >> 20} MiB")
        if late:
            raise DisassemblyError(f"{program}: does not come to an end in {LONGEST} seconds")
        if process.returncode != 0:
            errors.seek(0)
            said = errors.read(_MOST_REASON).decode("utf-8", "replace").strip().splitlines()
            raise DisassemblyError(f"{program}: {said[-1] if said else f'exit status {process.returncode}'}")
    return output


def _read(process: subprocess.Popen[bytes]) -> bytes:
    parts: list[bytes] = []
    size = 0
    assert process.stdout is not None
    while size <= MOST_OUTPUT and (part := process.stdout.read(_AT_ONCE)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _instructions(function: dict[str, list[dict[str, object]]]) -> Iterator[Instruction]:
    for each in function["sass-instructions"]:
        attributes = each.get("other-attributes")
        yield Instruction(
            str(each.get("predicate", "")),
            str(each["opcode"]),
            split_operands(str(each.get("operands", ""))),
            isinstance(attributes, dict) and attributes.get("control-flow") == "True",
        )


@cache
def disassemblers() -> tuple[str, ...]:
    """Every `nvdisasm` on this machine: of the toolkit, on PATH, of Python's wheels, and those frameworks bring along.

    Nothing is imported to find them. Of one that has several names, the first.
    """
    found: dict[str, str] = {}
    for place in _places():
        with suppress(OSError, ValueError):
            if place.is_file() and os.access(place, os.X_OK):
                found.setdefault(os.path.realpath(place), str(place))
    return tuple(found.values())


def _places() -> Iterator[Path]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield Path(os.environ[variable], "bin", "nvdisasm")
    on_path = shutil.which("nvdisasm")
    if on_path is not None:
        yield Path(on_path)
    yield from (Path(place) for place in _FIXED)
    for folder in _package_folders():
        yield from sorted(Path(folder, "nvidia").glob("*/bin/nvdisasm"), reverse=True)
        yield from (Path(folder, name, "backends", "nvidia", "bin", "nvdisasm") for name in _TRITONS)


def _package_folders() -> Iterator[str]:
    """Where Python's packages lie: of this environment, and of the one that is active where it is another."""
    for folder in sys.path:
        if folder.endswith(("site-packages", "dist-packages")):
            yield folder
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if os.environ.get(variable):
            yield from sorted(glob.glob(os.path.join(os.environ[variable], "lib", "python3*", "site-packages")))

"""Runs `nvdisasm`, NVIDIA's disassembler, and reads what it prints."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_LONGEST = 120
"""seconds: a cubin of 2.4 MB takes 3"""


class DisassemblyError(Exception):
    """There is no `nvdisasm` on this machine, or it refuses the file."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction as `nvdisasm` prints it: `@!P0`, `LDG.E.64`, `("R2", "desc[UR4][R2.64]")`."""

    predicate: str
    opcode: str
    operands: tuple[str, ...]
    jumps: bool
    """a branch, a call, a return or an exit"""


def split_operands(text: str) -> tuple[str, ...]:
    """Split at the commas that are in no brackets.

    >>> split_operands("R2,desc[UR4][R2.64+0x10],c[0x0][0x210]")
    ('R2', 'desc[UR4][R2.64+0x10]', 'c[0x0][0x210]')
    """
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


def disassembled(content: bytes) -> dict[str, tuple[Instruction, ...]]:
    """The functions of a cubin by the name of their section, instructions in order. Raises `DisassemblyError`."""
    program = disassembler()
    if program is None:
        raise DisassemblyError("no nvdisasm: it comes with the CUDA toolkit, or as `pip install nvidia-cuda-nvdisasm`")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(content)
        file.flush()
        try:
            done = subprocess.run(
                [program, "--emit-json", file.name], capture_output=True, timeout=_LONGEST, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DisassemblyError(f"{program}: {error}") from None
    if done.returncode != 0:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise DisassemblyError(f"{program}: {reason[-1] if reason else f'exit status {done.returncode}'}")
    try:
        return {function["function-name"]: tuple(_instructions(function)) for function in json.loads(done.stdout)[1]}
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise DisassemblyError(f"{program}: prints something unknown: {error}") from None


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
def disassembler() -> str | None:
    """Where `nvdisasm` is: on PATH, in the toolkit, in this environment's wheel or in Triton's; None if nowhere."""
    found = shutil.which("nvdisasm")
    if found is not None:
        return found
    for place in _places():
        if os.access(place, os.X_OK) and place.is_file():
            return str(place)
    return None


def _places() -> Iterator[Path]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield Path(os.environ[variable], "bin", "nvdisasm")
    yield Path("/usr/local/cuda/bin/nvdisasm")
    for folder in sys.path:
        if folder.endswith(("site-packages", "dist-packages")):
            yield from sorted(Path(folder, "nvidia").glob("*/bin/nvdisasm"), reverse=True)
            yield Path(folder, "triton", "backends", "nvidia", "bin", "nvdisasm")

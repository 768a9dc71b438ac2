"""Images of programs for the device: those that the simulated compiler writes, PTX text, and machine code."""

from __future__ import annotations

import base64
import binascii
import ctypes
import json
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from streamsan.kernels.uses import Start
from streamsan.sim.cubin_image import program_of_cubin, size_of
from streamsan.sim.device_program import DeviceVariable, KernelParameter, KernelType, Program
from streamsan.sim.executor.host_bytes import is_mapped
from streamsan.vocabulary import AccessMode

MARK = "// streamsan-program: "
BINARY_MARK = b"streamsan-program\0"
MOST_BYTES = 64 << 20
"""of an image; longer ones are cut"""
MOST_PARAMETERS = 4096
_PAGE = 4096
_LINE = 120
_SIMPLE = re.compile(r"[<|][iufcbV]\d{1,7}\Z")
_ENTRY = re.compile(r"\.entry\s+([\w$@]+)\s*(?:\(([^)]*)\))?")
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+(?P<align>\d+)\s+)?\.(?P<type>[a-z]\w*)(?P<attributes>(?:\s+\.\w+(?:\s+\d+)?)*)\s+"
    r"(?P<name>[\w$@]+)\s*(?:\[(?P<count>\d+)\])?"
)
_VARIABLE = re.compile(
    r"^\s*(?:\.(?:visible|extern|weak|common)\s+)?\.(?P<space>global|const)\s+(?P<attributes>(?:\.attribute\([^)]*\)\s*)?)"
    r"(?:\.align\s+\d+\s+)?(?:\.v(?P<vector>[24])\s+)?\.(?P<type>[a-z]\w*)\s+(?P<name>[\w$@]+)\s*(?:\[(?P<count>\d+)\])?",
    re.MULTILINE,
)
_NEXT = re.compile(r"\.(?:entry|func)\b")
_MAY_WAIT = re.compile(r"griddepcontrol\.wait|\bcall\b|\bcall\.|\.acquire\b|\bld\.volatile|\.relaxed\b")
"""in PTX: a wait for the kernel before, code elsewhere, and what may wait for what that kernel writes"""
_WIDTHS = re.compile(r"[a-z]+(\d+)(?:x2)?\Z")
_NUMPY = {"s": "i", "u": "u", "f": "f", "b": "u"}


class InvalidImageError(Exception):
    """An image is no program."""


# -- what the simulated compiler writes ---------------------------------------------------------------
def ptx_of(program: Program, architecture: str) -> bytes:
    """Return text that declares kernels as PTX does and carries all that is known of them; it ends with NUL."""
    lines = [
        "//",
        "// Written by the simulated compiler of streamsan: declarations only, there is no machine code behind them",
        "//",
        ".version 8.5",
        f".target {architecture}",
        ".address_size 64",
        "",
    ]
    for kernel in program.kernels:
        lines.append(f".visible .entry {kernel.lowered}(")
        lines.extend(_declared(kernel))
        lines += [")", "{", "\tret;", "}", ""]
    text = base64.b64encode(json.dumps(_described(program), separators=(",", ":")).encode()).decode()
    lines += [MARK + text[start : start + _LINE] for start in range(0, len(text), _LINE)]
    return "\n".join(lines).encode() + b"\n\0"


def _declared(kernel: KernelType) -> Iterator[str]:
    parameters = kernel.parameters or ()
    for number, one in enumerate(parameters):
        name = f"{kernel.lowered}_param_{number}"
        comma = "," if number + 1 < len(parameters) else ""
        if one.pointer:
            yield f"\t.param .u64 {name}{comma}"
        elif one.dtype is not None and one.dtype.kind in "iuf" and one.count == 1:
            yield f"\t.param .{'f' if one.dtype.kind == 'f' else 'u'}{8 * one.size} {name}{comma}"
        else:
            yield f"\t.param .align 8 .b8 {name}[{one.size}]{comma}"


def binary_of(program: Program) -> bytes:
    """Return bytes that stand for machine code."""
    text = json.dumps(_described(program), separators=(",", ":")).encode()
    return b"\x7fELF".ljust(16, b"\0") + BINARY_MARK + struct.pack("<Q", len(text)) + text


def _described(program: Program) -> dict[str, Any]:
    kernels = []
    for kernel in program.kernels:
        parameters = None
        if kernel.parameters is not None:
            parameters = [_parameter(one) for one in kernel.parameters]
        kernels.append([kernel.name, kernel.lowered, parameters, sorted(kernel.aliases), kernel.start.value])
    variables = [[v.name, v.lowered, v.size, v.managed, v.initial.hex()] for v in program.variables]
    return {"version": 1, "kernels": kernels, "variables": variables, "any": program.any_kernel}


def _parameter(one: KernelParameter) -> list[Any]:
    return [_plain(getattr(one, name)) for name in one.__struct_fields__]


def _plain(value: Any) -> Any:
    if isinstance(value, np.dtype):
        return _type_of(value)
    if isinstance(value, tuple):
        return [_parameter(one) if isinstance(one, KernelParameter) else one for one in value]
    return value


def _type_of(dtype: np.dtype[Any]) -> Any:
    if dtype.names is None or dtype.fields is None:
        return dtype.str
    parts = []
    for name in dtype.names:
        inner, offset = dtype.fields[name][:2]
        base, shape = inner.subdtype or (inner, ())
        parts.append([name, _type_of(base), int(np.prod(shape, dtype=np.int64)), offset])
    return {"fields": parts, "size": dtype.itemsize}


def _type_from(given: Any, depth: int = 0) -> np.dtype[Any] | None:
    if given is None:
        return None
    if isinstance(given, str) and _SIMPLE.match(given):
        return np.dtype(given)
    if not isinstance(given, Mapping) or depth > 16:
        raise InvalidImageError("a type that is none")
    names, formats, offsets = [], [], []
    for name, inner, count, offset in given["fields"]:
        dtype = _type_from(inner, depth + 1)
        names.append(str(name))
        formats.append(dtype if count == 1 else (dtype, (int(count),)))
        offsets.append(int(offset))
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": int(given["size"])})


def _from_description(text: bytes) -> Program:
    """Read what `_described` gave; an image may come from anywhere."""
    try:
        given = json.loads(text)
        kernels = []
        for name, lowered, parameters, aliases, start in given["kernels"]:
            known = None if parameters is None else tuple(_parameter_from(one) for one in parameters[:MOST_PARAMETERS])
            names = frozenset(str(alias) for alias in aliases)
            kernels.append(KernelType(str(name), str(lowered), known, names, Start(start)))
        variables = [
            DeviceVariable(str(name), str(lowered), int(size), bool(managed), bytes.fromhex(initial))
            for name, lowered, size, managed, initial in given["variables"]
        ]
        return Program(tuple(kernels), tuple(variables), bool(given.get("any")))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
        raise InvalidImageError("damaged") from error


def _parameter_from(given: Sequence[Any], depth: int = 0) -> KernelParameter:
    name, offset, size, pointer, dtype, count, const, mode, flags, early, held, used, *polled = given
    if not (0 <= int(offset) < 1 << 20 and 0 < int(size) < 1 << 20 and 0 < int(count) <= 1 << 24):
        raise InvalidImageError("a parameter that is none")
    return KernelParameter(
        str(name),
        int(offset),
        int(size),
        bool(pointer),
        _type_from(dtype),
        int(count),
        bool(const),
        AccessMode(int(mode)),
        int(flags) & 0xFC,
        None if early is None else (AccessMode(int(early[0])), int(early[1]) & 0xFC),
        tuple(_parameter_from(one, depth + 1) for one in held[:MOST_PARAMETERS]) if depth == 0 else (),
        bool(used),
        bool(polled and polled[0]),
    )


# -- what a program loads -----------------------------------------------------------------------------
def program_of(image: bytes) -> Program:
    """Return the program of an image: the simulated compiler's, PTX, or machine code. Raises InvalidImageError."""
    if image.startswith(b"\x7fELF"):
        at = image.find(BINARY_MARK, 0, 64)
        if at < 0:
            return program_of_cubin(image)
        start = at + len(BINARY_MARK)
        (length,) = struct.unpack_from("<Q", image.ljust(start + 8, b"\0"), start)
        return _from_description(image[start + 8 : start + 8 + length])
    if image[:4] in (b"\x50\xed\x55\xba", b"\xb1\x43\x62\x46") or image[:4] == b"BC\xc0\xde":
        return Program(any_kernel=True)
    text = image.split(b"\0", 1)[0].decode("utf-8", "replace")
    carried = "".join(line[len(MARK) :] for line in text.splitlines() if line.startswith(MARK))
    if carried:
        try:
            return _from_description(base64.b64decode(carried, validate=True))
        except binascii.Error as error:
            raise InvalidImageError("damaged") from error
    if ".version" not in text and ".entry" not in text:
        raise InvalidImageError("neither PTX nor machine code")
    return _from_ptx(text)


def _from_ptx(text: str) -> Program:
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    text = re.sub(r"//[^\n]*", "", text)
    kernels = []
    for match in _ENTRY.finditer(text):
        parameters: list[KernelParameter] = []
        end = 0
        for found in _PARAMETER.finditer(match[2] or ""):
            width = _WIDTHS.match(found["type"])
            element = int(width[1]) // 8 if width else 8
            size = element * int(found["count"] or 1)
            alignment = max(1, int(found["align"] or element))
            offset = -(-end // alignment) * alignment
            end = offset + size
            is_pointer = ".ptr" in (found["attributes"] or "")
            dtype = np.dtype(f"<{_NUMPY.get(found['type'][0], 'u')}{element}") if element in (1, 2, 4, 8) else None
            if dtype is not None and dtype.str == "<f1":
                dtype = None
            parameters.append(
                KernelParameter(found["name"], offset, size, is_pointer, None if is_pointer else dtype, size // element)
            )
        start = Start.AT_ONCE if _never_waits(text, match.end()) else Start.WAITS
        kernels.append(KernelType(match[1], match[1], tuple(parameters), start=start, unread="PTX"))
    variables = []
    for found in _VARIABLE.finditer(text):
        width = _WIDTHS.match(found["type"])
        size = (int(width[1]) // 8 if width else 8) * int(found["count"] or 1) * int(found["vector"] or 1)
        variables.append(DeviceVariable(found["name"], found["name"], size, "managed" in found["attributes"]))
    return Program(tuple(kernels), tuple(variables))


def _never_waits(text: str, position: int) -> bool:
    """Return whether a kernel's code, from a place in PTX on, waits for no kernel and calls nothing."""
    end = _NEXT.search(text, position)
    code = text[position : end.start() if end else len(text)]
    return "{" in code and _MAY_WAIT.search(code) is None


def image_bytes(image: object) -> bytes:
    """Return the bytes of an image given as bytes, a buffer, or the address of one. Raises InvalidImageError."""
    if isinstance(image, bytes | bytearray | memoryview):
        return bytes(image)[:MOST_BYTES]
    if isinstance(image, str):
        return image.encode()
    if hasattr(image, "__int__") and not getattr(image, "ndim", 0):
        return _bytes_at(int(image))
    try:
        return bytes(memoryview(image))[:MOST_BYTES]  # type: ignore[arg-type]
    except (TypeError, BufferError) as error:
        raise InvalidImageError("not an image") from error


def _bytes_at(address: int) -> bytes:
    """Return an image at an address of this process: text up to its NUL, or machine code of the length it says."""
    if not is_mapped(address, 64):
        if not is_mapped(address, 1):
            raise InvalidImageError("no memory there")
        return _text_at(address)
    head = ctypes.string_at(address, 64)
    if head.startswith(b"\x7fELF"):
        at = head.find(BINARY_MARK)
        if at < 0:
            size = size_of(head)
            return ctypes.string_at(address, size) if size <= MOST_BYTES and is_mapped(address, size) else head
        start = at + len(BINARY_MARK)
        (length,) = struct.unpack_from("<Q", head, start)
        size = start + 8 + length
        if length > MOST_BYTES or not is_mapped(address, size):
            raise InvalidImageError("damaged")
        return ctypes.string_at(address, size)
    if head[:4] in (b"\x50\xed\x55\xba", b"\xb1\x43\x62\x46"):
        return head
    return _text_at(address)


def _text_at(address: int) -> bytes:
    parts = []
    at = address
    while at - address < MOST_BYTES:
        size = _PAGE - at % _PAGE
        if not is_mapped(at, size):
            break
        part = ctypes.string_at(at, size)
        end = part.find(b"\0")
        if end >= 0:
            parts.append(part[:end])
            return b"".join(parts)
        parts.append(part)
        at += size
    raise InvalidImageError("text without an end")

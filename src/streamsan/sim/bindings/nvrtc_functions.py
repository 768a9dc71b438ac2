# ruff: noqa: N802, N803, N816 - the names are those of cuda.bindings
"""`cuda.bindings.nvrtc`: the run-time compiler. Names, arguments and results are those of the bindings."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from typing import Any

from streamsan.platforms.python_bindings import catalogue
from streamsan.sim.bindings.enums import enumeration
from streamsan.sim.bindings.handle_classes import handle_class
from streamsan.sim.compiler import ARCHITECTURES, CompilerProgram, Result

NVRTC_INSTALL_HEADERS_SKIP_IF_EXISTS = 0
NVRTC_INSTALL_HEADERS_FORCE_OVERWRITE = 1
NVRTC_INSTALL_HEADERS_NO_WAIT = 2

_NAMES = (
    "NVRTC_SUCCESS", "NVRTC_ERROR_OUT_OF_MEMORY", "NVRTC_ERROR_PROGRAM_CREATION_FAILURE", "NVRTC_ERROR_INVALID_INPUT",
    "NVRTC_ERROR_INVALID_PROGRAM", "NVRTC_ERROR_INVALID_OPTION", "NVRTC_ERROR_COMPILATION",
    "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE", "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
    "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION", "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
    "NVRTC_ERROR_INTERNAL_ERROR", "NVRTC_ERROR_TIME_FILE_WRITE_FAILED", "NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED",
    "NVRTC_ERROR_PCH_CREATE_HEAP_EXHAUSTED", "NVRTC_ERROR_PCH_CREATE", "NVRTC_ERROR_CANCELLED",
    "NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED", "NVRTC_ERROR_BUSY",
)  # fmt: skip

_MAJOR = catalogue("driver").major
_UNAVAILABLE = 7
"""NVRTC_ERROR_BUILTIN_OPERATION_FAILURE: no bundled headers here"""
_NO_PCH = 13
_HEAP = 256 << 20

nvrtcResult: Any = enumeration("nvrtc", "nvrtcResult", {name: number for number, name in enumerate(_NAMES)}, _MAJOR)
nvrtcProgram: Any = handle_class("nvrtc", "nvrtcProgram", None, True)

Returned = tuple[Any, ...]

_programs: dict[int, CompilerProgram] = {}
_handles = itertools.count(0x6E000010, 0x10)
_heap = [_HEAP]


class nvrtcBundledHeadersInfo:  # noqa: N801 - the name that cuda.bindings has
    """What headers the compiler brings along: the simulated one brings none."""

    def __init__(self, _ptr: int = 0) -> None:
        self.available = self.compressedSize = self.uncompressedSize = 0
        self.cudaVersionMajor = self.cudaVersionMinor = self.numFiles = 0


def _program(prog: object) -> CompilerProgram | None:
    if prog is not None and not isinstance(prog, nvrtcProgram) and not isinstance(prog, int):
        raise TypeError(f"Argument 'prog' is not instance of type (expected nvrtcProgram, found {type(prog).__name__})")
    return _programs.get(0 if prog is None else int(prog))


def _result(number: int) -> Any:
    return nvrtcResult(int(number))


def _bytes(value: object) -> bytes:
    if isinstance(value, bytes | bytearray):
        return bytes(value).split(b"\0", 1)[0]
    raise TypeError(f"expected bytes, {type(value).__name__} found")


def _texts(values: Sequence[object] | None, count: int) -> list[str]:
    given = [] if values is None else list(values)
    if any(not isinstance(value, bytes) for value in given):
        raise TypeError("Argument is not instance of type (expected tuple[bytes] or list[bytes])")
    if len(given) < count:
        raise RuntimeError(f"List is too small: {len(given)} < {count}")
    return [_bytes(value).decode("utf-8", "replace") for value in given[:count]]


def _fill(buffer: object, data: bytes) -> None:
    """Write into the program's buffer, as the bindings do: into `bytes` too (`b" " * size` is the common idiom)."""
    if isinstance(buffer, bytearray):
        buffer[: len(data)] = data[: len(buffer)]
        return
    if not isinstance(buffer, bytes):
        raise TypeError(f"expected bytes, {type(buffer).__name__} found")
    # Single bytes are shared by the whole interpreter: writing there would change every b" ".
    if len(buffer) > 1:
        address = ctypes.cast(ctypes.c_char_p(buffer), ctypes.c_void_p).value
        assert address is not None
        ctypes.memmove(address, data, min(len(buffer), len(data)))


def _size(prog: object, part: str) -> Returned:
    program = _program(prog)
    if program is None:
        return _result(Result.INVALID_PROGRAM), None
    if part != "log" and (not program.compiled or program.failed):
        return _result(Result.INVALID_PROGRAM), None
    return _result(Result.SUCCESS), len(getattr(program, part))


def _get(prog: object, buffer: object, part: str) -> Returned:
    program = _program(prog)
    if program is None or (part != "log" and (not program.compiled or program.failed)):
        return (_result(Result.INVALID_PROGRAM),)
    _fill(buffer, getattr(program, part))
    return (_result(Result.SUCCESS),)


# -- programs -----------------------------------------------------------------------------------------
def nvrtcCreateProgram(
    src: bytes,
    name: bytes,
    numHeaders: int,
    headers: Any,
    includeNames: Any,
) -> Returned:
    """Return a program made of a text."""
    text = _bytes(src).decode("utf-8", "replace")
    file = _bytes(name).decode("utf-8", "replace") if name is not None else ""
    texts, names = _texts(headers, numHeaders), _texts(includeNames, numHeaders)
    number = next(_handles)
    _programs[number] = CompilerProgram(text, file or "default_program", dict(zip(names, texts, strict=True)))
    return _result(Result.SUCCESS), nvrtcProgram(number)


def nvrtcDestroyProgram(prog: Any) -> Returned:
    """Destroy a program; the bindings set the handle to NULL."""
    if _program(prog) is None:
        return (_result(Result.INVALID_PROGRAM),)
    del _programs[int(prog)]
    return (_result(Result.SUCCESS),)


def nvrtcCompileProgram(prog: Any, numOptions: int, options: Any) -> Returned:
    """Compile a program."""
    words = _texts(options, numOptions)
    program = _program(prog)
    return (_result(Result.INVALID_PROGRAM if program is None else program.compile(words)),)


def nvrtcAddNameExpression(prog: Any, name_expression: bytes) -> Returned:
    """Ask for the linker's name of an expression, and for a template's instantiation."""
    program, text = _program(prog), _bytes(name_expression).decode("utf-8", "replace")
    if program is None:
        return (_result(Result.INVALID_PROGRAM),)
    if program.compiled:
        return (_result(Result.NO_NAME_EXPRESSIONS_AFTER_COMPILATION),)
    if text not in program.expressions:
        program.expressions.append(text)
    return (_result(Result.SUCCESS),)


def nvrtcGetLoweredName(prog: Any, name_expression: bytes) -> Returned:
    """Return the linker's name of an expression that was asked for."""
    program, text = _program(prog), _bytes(name_expression).decode("utf-8", "replace")
    if program is None:
        return _result(Result.INVALID_PROGRAM), None
    if not program.compiled or program.failed:
        return _result(Result.NO_LOWERED_NAMES_BEFORE_COMPILATION), None
    lowered = program.lowered.get(text)
    if lowered is None:
        return _result(Result.NAME_EXPRESSION_NOT_VALID), None
    return _result(Result.SUCCESS), lowered.encode()


# -- what a compilation gives -------------------------------------------------------------------------
def nvrtcGetPTXSize(prog: Any) -> Returned:
    """Return the bytes of the PTX, its NUL included."""
    return _size(prog, "ptx")


def nvrtcGetPTX(prog: Any, ptx: Any) -> Returned:
    """Write the PTX into a buffer."""
    return _get(prog, ptx, "ptx")


def nvrtcGetCUBINSize(prog: Any) -> Returned:
    """Return the bytes of the machine code; 0 for a virtual architecture."""
    return _size(prog, "binary")


def nvrtcGetCUBIN(prog: Any, cubin: Any) -> Returned:
    """Write what stands for machine code into a buffer."""
    return _get(prog, cubin, "binary")


def nvrtcGetLTOIRSize(prog: Any) -> Returned:
    """Return the bytes of the link-time code; 0 without `-dlto`."""
    return _size(prog, "link_time")


def nvrtcGetLTOIR(prog: Any, LTOIR: Any) -> Returned:
    """Write the link-time code into a buffer."""
    return _get(prog, LTOIR, "link_time")


def nvrtcGetOptiXIRSize(prog: Any) -> Returned:
    """Return 0: there is none."""
    return _result(Result.INVALID_PROGRAM if _program(prog) is None else Result.SUCCESS), 0


def nvrtcGetOptiXIR(prog: Any, optixir: Any) -> Returned:
    """Write nothing: there is none."""
    return (_result(Result.INVALID_PROGRAM if _program(prog) is None else Result.SUCCESS),)


def nvrtcGetTileIRSize(prog: Any) -> Returned:
    """Return 0: there is none."""
    return nvrtcGetOptiXIRSize(prog)


def nvrtcGetTileIR(prog: Any, TileIR: Any) -> Returned:
    """Write nothing: there is none."""
    return nvrtcGetOptiXIR(prog, TileIR)


def nvrtcGetProgramLogSize(prog: Any) -> Returned:
    """Return the bytes of the log, its NUL included."""
    return _size(prog, "log")


def nvrtcGetProgramLog(prog: Any, log: Any) -> Returned:
    """Write the log into a buffer."""
    return _get(prog, log, "log")


# -- the compiler itself ------------------------------------------------------------------------------
def nvrtcVersion() -> Returned:
    """Return major and minor version."""
    return _result(Result.SUCCESS), _MAJOR, 0 if _MAJOR >= 13 else 9


def nvrtcGetErrorString(result: Any) -> Returned:
    """Return the name of a result."""
    number = int(result)
    name = _NAMES[number] if 0 <= number < len(_NAMES) else "NVRTC_ERROR unknown"
    return _result(Result.SUCCESS), name.encode()


def nvrtcGetNumSupportedArchs() -> Returned:
    """Return how many architectures there are."""
    return _result(Result.SUCCESS), len(ARCHITECTURES)


def nvrtcGetSupportedArchs() -> Returned:
    """Return the architectures."""
    return _result(Result.SUCCESS), list(ARCHITECTURES)


def nvrtcSetFlowCallback(prog: Any, callback: Any, payload: Any) -> Returned:
    """Accept a callback that is never needed: compiling takes no time worth cancelling."""
    return (_result(Result.INVALID_PROGRAM if _program(prog) is None else Result.SUCCESS),)


def nvrtcGetPCHHeapSize() -> Returned:
    """Return the size that was set."""
    return _result(Result.SUCCESS), _heap[0]


def nvrtcSetPCHHeapSize(size: int) -> Returned:
    """Set the size of a heap that nothing uses."""
    _heap[0] = int(size)
    return (_result(Result.SUCCESS),)


def nvrtcGetPCHCreateStatus(prog: Any) -> Returned:
    """Return that no precompiled header was made."""
    return (_result(Result.INVALID_PROGRAM if _program(prog) is None else _NO_PCH),)


def nvrtcGetPCHHeapSizeRequired(prog: Any) -> Returned:
    """Return 0."""
    return _result(Result.INVALID_PROGRAM if _program(prog) is None else Result.SUCCESS), 0


def nvrtcGetBundledHeadersInfo() -> Returned:
    """Return that there are no bundled headers."""
    return _result(Result.SUCCESS), nvrtcBundledHeadersInfo(), None


def nvrtcInstallBundledHeaders(installPath: bytes, flags: int) -> Returned:
    """Fail: there are none."""
    return _result(_UNAVAILABLE), b"the simulated compiler has no bundled headers"


def nvrtcRemoveBundledHeaders(installPath: bytes) -> Returned:
    """Fail: there are none."""
    return _result(_UNAVAILABLE), b"the simulated compiler has no bundled headers"


def sizeof(objType: Any) -> int:
    """Return the size of one of this module's types."""
    if objType is nvrtcProgram or objType is nvrtcResult:
        return 8 if objType is nvrtcProgram else 4
    raise TypeError(f"Unknown type: {objType}")


def __dir__() -> list[str]:
    """Only what `cuda.bindings.nvrtc` has."""
    own = ("__doc__", "__name__", "__package__", "__file__", "__loader__", "__spec__", "sizeof")
    return sorted(name for name in globals() if name.startswith(("nvrtc", "NVRTC")) or name in own)

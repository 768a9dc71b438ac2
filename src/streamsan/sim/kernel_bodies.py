"""How a launch is computed: by a Python body that the program gave, or by a mix that shows wrong order."""

from __future__ import annotations

import inspect
import os
import traceback
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from streamsan.model.values import Pointer
from streamsan.sim.device_program import KernelParameter, KernelType
from streamsan.sim.payloads import Bytes, DeviceMemory, IllegalAddressError, LaunchFailedError
from streamsan.vocabulary import AccessMode, SlotFlag

Body = Callable[..., object]
"""A kernel in Python: called with the kernel's arguments, and with `launch=KernelLaunch` if it has a parameter of that
name. A pointer is a NumPy view from its address to the end of the allocation (None for NULL), typed as the kernel
declares it, read-only for pointers to const; numbers are Python numbers, structures NumPy records."""

MOST_MIXED = 4 << 20
"""Bytes of each buffer that the mix reads or writes; what lies beyond stays."""

_WRITES = frozenset({AccessMode.WRITE, AccessMode.READ_WRITE, AccessMode.OPAQUE})


class Dimensions(Struct, frozen=True):
    """The shape of a launch."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    """bytes of dynamic shared memory"""


class Argument(Struct, frozen=True):
    """One argument of a launch, as bytes."""

    parameter: KernelParameter | None
    data: bytes
    pointer: Pointer | None = None
    """the allocation that the program's own object remembers"""

    def word(self, offset: int) -> int:
        """Return eight bytes as a number."""
        return int.from_bytes(self.data[offset : offset + 8], "little")

    def pieces(self) -> Iterator[Argument]:
        """Yield what may hold addresses: itself, or each pointer of a structure and what lies between them."""
        held = self.parameter.fields if self.parameter is not None else ()
        end = 0
        for one in held:
            if one.offset > end:
                yield Argument(None, self.data[end : one.offset], self.pointer)
            end = one.offset + one.size
            yield Argument(one, self.data[one.offset : end], self.pointer)
        yield Argument(None, self.data[end:], self.pointer) if held else self

    @property
    def used(self) -> bool:
        """Whether the kernel's own code may use what it leads to."""
        return self.parameter is None or self.parameter.used

    def known(self, address: int) -> Pointer | int:
        """Return an address of it for the model, with its generation where that is known."""
        return self.pointer if self.pointer is not None and self.pointer.address == address else address


class NoMemory:
    """What a body gets for an address at which there is nothing for it: a number that may be compared, not used.

    A kernel may be given an address that it never follows; only its use is illegal.
    """

    def __init__(self, address: int, reason: str) -> None:
        """Stand for an address; `reason`: why there is nothing."""
        self.address = address
        self._reason = reason

    def __index__(self) -> int:
        """Return the address."""
        return self.address

    __int__ = __index__

    def _follow(self, *given: object) -> NoReturn:
        raise IllegalAddressError(self._reason)

    __getitem__ = __setitem__ = __len__ = __iter__ = __array__ = __getattr__ = _follow
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _follow


class KernelLaunch(Struct, frozen=True):
    """What a body may want to know beyond its arguments."""

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    """bytes of dynamic shared memory"""
    memory: DeviceMemory
    variables: Mapping[str, int] = field(default_factory=dict)
    """addresses of the `__device__`, `__constant__` and `__managed__` variables beside the kernel, by name"""

    @property
    def threads(self) -> int:
        """Number of threads of the whole launch."""
        return int(np.prod(self.grid, dtype=np.int64) * np.prod(self.block, dtype=np.int64))

    def view(self, address: int, dtype: npt.DTypeLike = np.uint8) -> npt.NDArray[Any]:
        """Return the memory from an address (of a structure's field) to the end of its allocation."""
        return _typed(self.memory.view(int(address)), np.dtype(dtype), 1)

    def variable(self, name: str, dtype: npt.DTypeLike = np.uint8) -> npt.NDArray[Any]:
        """Return the memory of a device variable. Raises KeyError for one that the program does not have."""
        return self.view(self.variables[name], dtype)


class SimulatedKernel(Struct, frozen=True):
    """One launch, with its arguments."""

    kernel: KernelType
    arguments: tuple[Argument, ...]
    dimensions: Dimensions
    find_body: Callable[[KernelType], Body | None]
    guard: Callable[[Callable[[], None]], None]
    variables: Mapping[str, int] = field(default_factory=dict)
    """addresses of the program's device variables by name"""
    context: object = None
    """the context that the kernel was loaded into; None: a library's, which is of no context"""

    @property
    def name(self) -> str:
        """The kernel's name as the source writes it."""
        return self.kernel.name

    def run(self, memory: DeviceMemory) -> None:
        """Compute the launch. Raises IllegalAddressError and LaunchFailedError."""
        body = self.find_body(self.kernel)
        if body is None:
            _mix(self, memory)
        else:
            self._run_body(body, memory)

    def _run_body(self, body: Body, memory: DeviceMemory) -> None:
        values = [_value(argument, memory) for argument in self.arguments]
        keywords: dict[str, object] = {}
        if _takes_launch(body):
            shape = self.dimensions
            keywords["launch"] = KernelLaunch(self.name, shape.grid, shape.block, shape.shared, memory, self.variables)
        try:
            self.guard(lambda: _called(body, values, keywords))
        except IllegalAddressError:
            raise
        except (Exception, SystemExit) as error:
            raise LaunchFailedError(_failure(body, error)) from None


def _called(body: Body, values: list[object], keywords: dict[str, object]) -> None:
    body(*values, **keywords)


def _takes_launch(body: Body) -> bool:
    try:
        parameters = inspect.signature(body).parameters
    except (TypeError, ValueError):
        return False
    return "launch" in parameters


def _failure(body: Body, error: BaseException) -> str:
    """Return what the body raised, and where."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    code = getattr(body, "__code__", None)
    place = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    if not place and code is not None:
        place = f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"
    text = " ".join(str(error).split())[:200]
    what = f"{type(error).__name__}{': ' + text if text else ''}"
    return f"its body raised {what}{f' ({place})' if place else ''}"


# -- arguments for a body -----------------------------------------------------------------------------
def _value(argument: Argument, memory: DeviceMemory) -> object:
    parameter = argument.parameter
    if parameter is None:
        return _guessed(argument, memory)
    if parameter.pointer:
        address = argument.word(0)
        if address == 0:
            return None
        try:
            found = memory.view(address)
        except IllegalAddressError as error:
            return NoMemory(address, str(error))
        view = _typed(found, parameter.dtype or np.dtype("u1"), parameter.count)
        if parameter.const:
            view.flags.writeable = False
        return view
    if parameter.dtype is None:
        return _guessed(argument, memory)
    values = np.frombuffer(argument.data[: parameter.dtype.itemsize * parameter.count], parameter.dtype)
    if parameter.count > 1:
        return values
    if parameter.dtype == np.dtype("<u8"):
        return _guessed(argument, memory) if _is_address(argument, memory) and _untyped(parameter) else int(values[0])
    return values[0] if parameter.dtype.names is not None else values[0].item()


def _untyped(parameter: KernelParameter) -> bool:
    """Return whether only PTX declares the parameter, which tells no pointer from a number."""
    return "_param_" in parameter.name


def _is_address(argument: Argument, memory: DeviceMemory) -> bool:
    try:
        memory.view(argument.word(0))
    except IllegalAddressError:
        return False
    return True


def _guessed(argument: Argument, memory: DeviceMemory) -> object:
    """Return an argument whose type nobody knows: the memory it leads to, else a number."""
    if len(argument.data) == 8 and argument.word(0):
        try:
            return memory.view(argument.word(0))
        except IllegalAddressError:
            pass
    return int.from_bytes(argument.data, "little") if len(argument.data) <= 8 else np.frombuffer(argument.data, "u1")


def _typed(view: Bytes, dtype: np.dtype[Any], count: int) -> npt.NDArray[Any]:
    """Return bytes as elements, without a rest; several in an element are a second dimension."""
    size = dtype.itemsize * count
    whole = view[: len(view) // size * size] if size else view[:0]
    typed: npt.NDArray[Any] = whole.view(dtype)
    return typed.reshape(-1, count) if count > 1 else typed


# -- without a body -----------------------------------------------------------------------------------
def _mix(launch: SimulatedKernel, memory: DeviceMemory) -> None:
    """Write what the kernel may write as a function of its name, its numbers and all that it may read.

    So two runs give the same words exactly if the kernel met the same memory: an order that is missing shows.
    """
    digest = zlib.crc32(launch.kernel.lowered.encode())
    buffers: list[tuple[KernelParameter | None, Bytes]] = []
    for argument in launch.arguments:
        found = [
            (piece.parameter, view) for piece in argument.pieces() if piece.used for view in _buffers(piece, memory)
        ]
        if not found:
            digest = zlib.crc32(argument.data, digest)
        buffers.extend((parameter, view[:MOST_MIXED]) for parameter, view in found)
    for parameter, view in buffers:
        if parameter is None or parameter.mode is not AccessMode.WRITE:
            digest = zlib.crc32(view.tobytes(), digest)
    for number, (parameter, view) in enumerate(buffers):
        if parameter is None or not parameter.pointer or parameter.mode in _WRITES:
            _scramble(view, parameter, zlib.crc32(number.to_bytes(4, "little"), digest))


def _buffers(argument: Argument, memory: DeviceMemory) -> list[Bytes]:
    """Return the memory that an argument leads to.

    Raises IllegalAddressError for a pointer to none that the kernel is known to follow.
    """
    parameter = argument.parameter
    if parameter is not None and parameter.pointer and _is_followed(parameter):
        address = argument.word(0)
        return [memory.view(address)] if address else []
    found = []
    for offset in range(0, len(argument.data) - 7, 8):
        address = argument.word(offset)
        if address:
            try:
                found.append(memory.view(address))
            except IllegalAddressError:
                continue  # a number, not an address
    return found


def _is_followed(parameter: KernelParameter) -> bool:
    """Return whether a kernel surely uses what is there: one that never writes through it may not even read."""
    writes = parameter.mode in (AccessMode.WRITE, AccessMode.READ_WRITE)
    return writes or bool(parameter.flags & SlotFlag.TOUCHES)


def _scramble(view: Bytes, parameter: KernelParameter | None, seed: int) -> None:
    """Fill with small numbers of the element's type: no NaN, nothing that overflows at the next step."""
    dtype = parameter.dtype if parameter is not None and parameter.pointer else None
    if dtype is None or dtype.names is not None or dtype.kind not in "iuf" or dtype.itemsize == 1:
        dtype = np.dtype("<u4") if len(view) % 4 == 0 else np.dtype("u1")
    whole = view[: len(view) // dtype.itemsize * dtype.itemsize].view(dtype)
    words = np.arange(len(whole), dtype=np.uint32) * np.uint32(2654435761) + np.uint32(seed)
    words ^= words >> np.uint32(15)
    if dtype.kind == "f":
        whole[:] = (words & np.uint32(0x3FF)).astype(dtype) / dtype.type(1024)
    else:
        whole[:] = (words & np.uint32(0x7F)).astype(dtype)

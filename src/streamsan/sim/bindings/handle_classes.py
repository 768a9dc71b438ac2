"""The classes of cuda.bindings that hold one number: handles, device pointers, integer types, function pointers."""

from __future__ import annotations

import ctypes
from typing import ClassVar

from streamsan.model.values import Handle, HandleType, Value
from streamsan.sim.bindings.addresses import LARGEST, DevicePointer, number_of, value_of
from streamsan.sim.bindings.structure_fields import integer

DEFAULT_STREAMS = (0, 1, 2)

TYPES: dict[str, HandleType] = {
    "CUstream": "stream",
    "CUevent": "event",
    "CUcontext": "context",
    "CUmemoryPool": "pool",
    "CUgraph": "graph",
    "CUgraphExec": "graph_exec",
    "CUgraphNode": "node",
    "CUarray": "array",
    "CUmipmappedArray": "array",
    "cudaArray_t": "array",
    "cudaArray_const_t": "array",
    "cudaMipmappedArray_t": "array",
    "cudaMipmappedArray_const_t": "array",
}
"""What a class means to the model; other classes that are shown in hexadecimal are handles of type "other"."""

SIGNED = frozenset({"CUdevice", "CUdevice_v1", "EGLint"})
"""Classes of C's int: CU_DEVICE_CPU is -1."""
NARROW = frozenset({"cuuint32_t", "GLenum", "GLuint"})
"""Classes of 32 bits without a sign."""
PLAIN_NUMBERS = frozenset({"CUdeviceptr", "CUdeviceptr_v2"})


class Opaque:
    """A number with a class of its own. Its memory exists once somebody asks where it is."""

    __slots__ = ("__weakref__", "_held", "_memory")
    _hexadecimal: ClassVar[bool] = True
    _signed: ClassVar[bool] = False
    _narrow: ClassVar[bool] = False
    _held: int
    _memory: ctypes.c_uint64 | None

    def __init__(self, init_value: object = 0, _ptr: int = 0) -> None:
        """Hold a number, that of another handle, or (`_ptr`) whatever is in memory at an address."""
        self._memory = ctypes.c_uint64.from_address(int(_ptr)) if _ptr else None
        self._held = self._number if self._memory is not None else self._accepted(init_value)

    @classmethod
    def _accepted(cls, value: object) -> int:
        if cls._signed or cls._narrow:
            word = "int" if cls._signed else "unsigned int"
            return integer(word, int(value) if isinstance(value, Opaque) else value)
        return number_of(value)

    @property
    def _number(self) -> int:
        if self._memory is None:
            return self._held
        content = self._memory.value
        low = content & 0xFFFF_FFFF
        number = ctypes.c_int32(low).value if self._signed else low if self._narrow else content
        # A device pointer keeps its generation as long as nobody wrote into its memory.
        if number != getattr(self, "_held", None):
            self._held = number
        return self._held

    def __int__(self) -> int:
        """Return the number."""
        return int(self._number)

    def __index__(self) -> int:
        """Return the number."""
        return int(self._number)

    def __eq__(self, other: object) -> bool:
        """Compare with another handle of the same kind."""
        if not isinstance(other, Opaque):
            return False
        return (isinstance(other, type(self)) or isinstance(self, type(other))) and int(self) == int(other)

    def __hash__(self) -> int:
        """Return the number's hash."""
        return hash(int(self))

    def __repr__(self) -> str:
        """Return `<CUstream 0x1>`, `<CUdeviceptr 16>`."""
        shown = type(self)
        while shown.__base__ not in (Opaque, object, None):
            assert shown.__base__ is not None
            shown = shown.__base__
        number = int(self)
        return f"<{shown.__name__} {hex(number) if self._hexadecimal else number}>"

    def getPtr(self) -> int:  # noqa: N802 - the name that cuda.bindings has
        """Return where the number lies in memory."""
        if self._memory is None:
            self._memory = ctypes.c_uint64(int(self._held) & LARGEST)
        return ctypes.addressof(self._memory)


COUNTED = frozenset({"cuuint32_t", "cuuint64_t", "GLenum", "GLuint", "cudaLogIterator", "CUlogIterator"})
"""Classes of numbers that stand for nothing but themselves."""


def names_something(kind: type[Opaque]) -> bool:
    """Return whether numbers of a class stand for objects of the driver, so that each must differ from 0."""
    names = {ancestor.__name__ for ancestor in kind.__mro__}
    return not names & (COUNTED | SIGNED | PLAIN_NUMBERS) and not kind.__name__.startswith("Vdp")


def handle_class(module: str, name: str, base: type[Opaque] | None, hexadecimal: bool) -> type[Opaque]:
    """Return a new class."""
    contents = {
        "__slots__": (),
        "__module__": f"cuda.bindings.{module}",
        "_hexadecimal": hexadecimal,
        "_signed": name in SIGNED,
        "_narrow": name in NARROW,
    }
    return type(name, (base or Opaque,), contents)


def handle_type(kind: type[Opaque]) -> HandleType | None:
    """Return what handles of a class are to the model; None: they are numbers or addresses."""
    for ancestor in kind.__mro__:
        if ancestor.__name__ in PLAIN_NUMBERS:
            return None
        if ancestor.__name__ in TYPES:
            return TYPES[ancestor.__name__]
    return "other" if kind._hexadecimal else None


def model_handle(number: int, word: HandleType) -> Value:
    """Return the model's value of a handle: NULL and the default streams are numbers."""
    if isinstance(number, DevicePointer):
        return value_of(number)
    number = int(number)
    if number == 0 or (word == "stream" and number in DEFAULT_STREAMS):
        return number
    return Handle(word, number)

"""OpenCL's objects: each has a reference count of its own. Plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from streamsan.model.opencl.work_items import ByteRange, WorkItems
from streamsan.model.resources import Allocation, OtherHandle
from streamsan.model.values import Handle, Pointer, Symbol, Value
from streamsan.vocabulary import AccessMode


class ClObject(OtherHandle):
    """An object that lives as long as somebody holds a reference."""

    made_in: int = 0
    """handle of the context that it holds; 0: not known"""
    count: int = 1
    """references that the program holds, as far as its own calls say"""
    assumed: bool = False
    """came from code nobody can see"""
    shared: bool = False
    """code that nobody sees was given it: it may hold, or have dropped, references"""

    @property
    def counted(self) -> bool:
        """Whether the count says how many references there are."""
        return not (self.assumed or self.shared)


class Queue(ClObject):
    """A command queue."""

    out_of_order: bool = False


class ImageShape(Struct, frozen=True):
    """How the pixels of an image lie in the range that stands for it: one behind the other."""

    pixel: int
    """bytes of one"""
    width: int
    height: int
    depth: int

    @property
    def row(self) -> int:
        """Bytes of a row."""
        return self.pixel * self.width

    @property
    def slice(self) -> int:
        """Bytes of a slice."""
        return self.row * self.height

    @property
    def bytes(self) -> int:
        """Bytes of the image."""
        return self.slice * self.depth


class MemoryObject(ClObject):
    """A buffer, a part of one, an image or a pipe."""

    allocation: Allocation | None = None
    """the range that stands for it; for a part: the whole's"""
    offset: int = 0
    size: int = 0
    """bytes; 0: not known"""
    exact: bool = True
    """False: nobody knows where in the whole the part begins"""
    whole: MemoryObject | None = None
    parts: int = 0
    """sub-buffers, and buffers over the same host memory, that are alive: the memory stays for them"""
    is_lent: bool = False
    """over shared virtual memory, which has a life of its own"""
    is_image: bool = False
    shape: ImageShape | None = None
    """an image's, where it is known"""
    over_host: bool = False
    """its memory is the host's own (CL_MEM_USE_HOST_PTR)"""


class ClEvent(ClObject):
    """An event."""

    user: bool = False


class Map(Struct, eq=False):
    """A region that the host may use by a pointer, until it is unmapped."""

    memory: MemoryObject | None
    """None: shared virtual memory"""
    offset: int
    size: int
    mode: AccessMode
    """what the host may do"""
    pointer: Pointer


class KernelText(Struct, frozen=True):
    """What is known of a kernel from its source."""

    name: str
    modes: tuple[tuple[AccessMode, int] | None, ...] | None = None
    """by argument: how memory is used, with flags of the reference; None: no memory. As a whole None: not known"""
    reach: Callable[[WorkItems, Mapping[int, int]], Mapping[int, tuple[ByteRange, ...]]] | None = None
    """of a launch with these numbers as arguments: which bytes it touches, by argument, where that is known"""


class Kernel(ClObject):
    """A kernel object."""

    text: KernelText = field(default_factory=lambda: KernelText(""))
    arguments: dict[int, MemoryObject | Pointer | Symbol] = field(default_factory=dict)
    """memory that it holds, without a reference to it"""
    numbers: dict[int, int] = field(default_factory=dict)
    """numbers that it holds"""
    held: list[Value] = field(default_factory=list)
    """what its executions may use beside (clSetKernelExecInfo)"""
    unclear: bool = False
    """an argument was set that nobody knows"""


class CommandBuffer(ClObject):
    """Commands that are recorded, and enqueued as one."""

    memory: list[MemoryObject | Pointer | Symbol] = field(default_factory=list)


def handle_of(made: ClObject) -> Handle:
    """Return the handle that the program gets."""
    return Handle(made.type, made.handle)  # type: ignore[arg-type]

"""Accesses to memory, and when two of them are in each other's way."""

from __future__ import annotations

from dataclasses import dataclass

from execution_oracle.memory import HOST_SIDE, Allocation
from execution_oracle.program import LEGACY, PER_THREAD, Op
from streamsan.trace import Reference
from streamsan.vocabulary import AccessMode, MemoryKind, SlotFlag, WaitClass
from streamsan.vocabulary import OperationKind as Kind

DEVICE_WORK = {Kind.LAUNCH, Kind.COPY, Kind.MEMSET, Kind.PREFETCH, Kind.HOST_FUNCTION, Kind.STREAM_MEMORY_OP}
EXACT = {Kind.COPY, Kind.MEMSET}
"""of these the whole range is touched"""
BULK = {Kind.COPY, Kind.MEMSET, Kind.PREFETCH, Kind.HOST_FUNCTION}
"""work on host memory that a host access must not overlap; kernels may be meant to meet the host"""
FLAG = 64
"""Memory of so few bytes may be a flag, by which the host and kernels talk."""
WITHOUT_PLAIN_BYTES = {MemoryKind.ARRAY}


@dataclass(frozen=True, slots=True)
class Use:
    """An access to an allocation: by work (part of an operation), or by the host itself."""

    index: int
    part: int
    op: Op
    reference: Reference
    kind: Kind
    """what sort of work; of a graph's node, that of the node"""
    host: bool = False
    exec_: int = -1
    """index of the instantiation or update of the graph that it is a part of"""

    @property
    def reads(self) -> bool:
        return self.reference.mode is AccessMode.READ

    @property
    def writes(self) -> bool:
        return self.reference.mode in (AccessMode.WRITE, AccessMode.READ_WRITE)

    @property
    def exact(self) -> bool:
        return self.kind in EXACT and self.reference.size != 0

    @property
    def strided(self) -> bool:
        return self.exact and bool(self.reference.flags & SlotFlag.STRIDED)

    def touched(self) -> range:
        """The bytes that it surely touches."""
        begin = self.reference.address
        if self.exact and not self.strided:
            return range(begin, begin + self.reference.size)
        sure = self.exact or bool(self.reference.flags & SlotFlag.TOUCHES)
        return range(begin, begin + 1 if sure else begin)

    def is_apart_from(self, other: Use) -> bool:
        """Whether it touches nothing that the other one may touch, as far as both are known."""
        mine, others = self._limits(), other._limits()
        return mine is not None and others is not None and (mine.stop <= others.start or others.stop <= mine.start)

    def _limits(self) -> range | None:
        """The bytes outside of which it touches nothing."""
        begin, bounds = self.reference.address, self.reference.bounds
        if self.reference.size and (self.exact or self.host):
            return range(begin, begin + self.reference.size)
        return None if bounds is None else range(begin + bounds.begin, begin + bounds.end)

    @property
    def settled(self) -> bool:
        """Programs rely on it to be complete when its call returns, though that is not promised."""
        if self.op.kind is not Kind.COPY:
            return False
        default = self.op.stream in (LEGACY, PER_THREAD)
        perhaps = self.op.detail in (WaitClass.MAYBE_COMPLETE, WaitClass.OBSERVED_COMPLETE)
        return self.op.detail == WaitClass.BEFORE or (perhaps and default)


def conflict(later: Use, earlier: Use, allocation: Allocation) -> bool:
    """Whether both surely touch the same byte, and one surely writes it."""
    kind = allocation.kind
    if earlier.settled or allocation.pageable:
        return False
    if kind in WITHOUT_PLAIN_BYTES and not _meet_in_array(later, earlier):
        return False
    for use in (later, earlier):
        if use.kind in (Kind.HOST_FUNCTION, Kind.PREFETCH, Kind.STREAM_MEMORY_OP):
            return False
        if use.reference.mode is AccessMode.OPAQUE:
            return False
    if not later.writes and not earlier.writes:
        return False
    kernels = not later.exact and not earlier.exact
    if kernels and (kind in HOST_SIDE or kind is MemoryKind.MANAGED):
        return False  # they may be meant to meet: they poll, and use atomics of the whole system
    if kernels and later.reference.flags & earlier.reference.flags & SlotFlag.ATOMIC:
        return False
    if later.is_apart_from(earlier):
        return False
    one, other = later.touched(), earlier.touched()
    return max(one.start, other.start) < min(one.stop, other.stop)


def _meet_in_array(later: Use, earlier: Use) -> bool:
    """Whether a kernel, through a texture or a surface, surely meets other work in the first element."""
    in_first = later.reference.address == earlier.reference.address and later.touched() and earlier.touched()
    return bool(in_first) and Kind.LAUNCH in (later.kind, earlier.kind)


def beside_kernel(host: Use, kernel: Use, allocation: Allocation, recording: bool) -> tuple[bool, bool]:
    """Whether a host's access and a kernel may touch the same bytes, and whether they surely do.

    What an unknown kernel does is not judged, nor a signal to one that uses atomics; one that reads memory of the host
    in a recording may be meant to.
    """
    begin, reference = host.reference.address, kernel.reference
    end = begin + host.reference.size
    if reference.mode is AccessMode.OPAQUE or allocation.pageable:
        return False, False
    if host.reference.size and end <= reference.address:
        return False, False
    if host.is_apart_from(kernel):
        return False, False
    atomic = bool(reference.flags & SlotFlag.ATOMIC)
    if atomic:
        return host.reads, False
    covers = begin == reference.address or begin <= reference.address < end
    sure = covers and bool(reference.flags & SlotFlag.TOUCHES) and allocation.size > FLAG
    return True, sure and not (recording and allocation.kind is not MemoryKind.MANAGED)


def meeting(host: Use, work: Use, allocation: Allocation) -> tuple[bool, bool]:
    """Whether a host's access and work on host memory may touch the same bytes, and whether they surely do.

    The host touches all that it names, the first byte where that is not known. A host function is taken to use all that
    it was given; what it does, and so whether it writes, is not known.
    """
    whole = allocation.base + allocation.size
    begin, work_begin = host.reference.address, work.reference.address
    end = begin + host.reference.size if host.reference.size else whole
    work_end = work_begin + work.reference.size if work.reference.size else whole
    if work_end <= begin or end <= work_begin:
        return False, False
    if host.reads and work.reference.mode is AccessMode.OPAQUE:
        return True, False
    first_only = not host.reference.size and begin < work_begin
    between_rows = (host.strided or work.strided) and begin != work_begin
    if between_rows and host.strided != work.strided:
        # The one without gaps surely meets the first byte of the other. What a host function touches is not known so
        # well, and a copy that programs take to be complete is nothing to be sure of.
        rows, full = (host, work) if host.strided else (work, host)
        first = rows.reference.address
        full_end = work_end if full is work else end
        between_rows = not full.reference.address <= first < full_end or (
            full is work and (not work.exact or work.settled)
        )
    return True, not (first_only or between_rows)

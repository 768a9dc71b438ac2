"""Compares what machine code says of launches with what instrumentation saw of the same launches, in one recording.

Both are in a recording that was made with `--accesses`: the kernels' code beside the trace, and LAUNCH_ACCESSES in it.
What is compared is a *place*: an allocation, and the words of a kernel's arguments that point into it. Where several
do, nobody can tell by which of them an access came, so their uses are compared together.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from byte_sets import ByteSet

from streamsan.kernels.uses import Use
from streamsan.launched_code.kernel_readings import Kernel, KernelReadings
from streamsan.launched_code.reference_patches import kernel_of
from streamsan.machine_code import launch_extents
from streamsan.machine_code.byte_ranges import Extent
from streamsan.machine_code.kernel_accesses import KernelAccesses
from streamsan.machine_code.launch_extents import WordExtents, extents_of
from streamsan.trace import Reference, Trace
from streamsan.trace.launch_shapes import LaunchShape
from streamsan.trace.view import OperationView, iterate
from streamsan.vocabulary import AccessMode, MemoryKind, OperationKind, SeenAccesses, SlotFlag

READ, WRITE, UPDATE, SOME = "reads", "writes", "updates", "uses"
"""SOME: instrumentation does not tell in which way"""
MODES = (READ, WRITE, UPDATE)
Word = int | str
"""the offset of a word in the argument buffer, or the symbol of a variable"""
NO_WORD = -1
"""the place of a reference of which it is not known where it stands"""
_SLACK = 512
"""Bytes behind an allocation that are its own as well: nothing else begins there."""
_SMALL = 8
"""bytes, at most, of a reference whose mode instrumentation leaves open"""


@dataclass
class Place:
    """What is known of one place of one kernel, over all launches that were seen. `said`: None: may be anything."""

    said: frozenset[str] | None
    seen: set[str] = field(default_factory=set)
    launches: int = 0
    extents: Counter[str] = field(default_factory=Counter)
    """by what is said: exact, gaps, within, unknown; one for each mode of each different launch"""
    contradictions: set[str] = field(default_factory=set)
    mixed: bool = False
    """the kernel also follows addresses that it finds in memory, so what was seen need not have come by these words"""
    unexplained: bool = False
    """something was seen that was not said, in such a kernel"""

    def verdict(self) -> str:
        """How what is said fits: exact, more (than was seen), open, may, or contradicted."""
        if self.contradictions:
            return "contradicted"
        if self.said is None:
            return "may"
        if self.unexplained:
            return "open"
        if SOME in self.seen:
            return "exact" if len(self.said) == 1 else "more"
        return "exact" if self.seen >= self.said else "more"


@dataclass
class Compared:
    """What came of one recording."""

    places: dict[Kernel, dict[tuple[Word, ...], Place]] = field(default_factory=dict)
    unseen: set[Kernel] = field(default_factory=set)
    """kernels of which no launch was seen by instrumentation"""
    unread: dict[Kernel, str] = field(default_factory=dict)
    """kernels whose code was not read, and why"""
    launches: int = 0
    """that were compared"""
    stray: dict[Kernel, str] = field(default_factory=dict)
    """kernels that touch memory to which nothing that is known of them leads, and are not known to follow more"""

    def add(self, other: Compared) -> None:
        """Take over what came of another recording."""
        for kernel, places in other.places.items():
            mine = self.places.setdefault(kernel, {})
            for words, place in places.items():
                known = mine.setdefault(words, Place(place.said, mixed=place.mixed))
                known.seen |= place.seen
                known.launches += place.launches
                known.extents += place.extents
                known.contradictions |= place.contradictions
                known.unexplained |= place.unexplained
        self.unread.update(other.unread)
        self.stray.update(other.stray)
        self.unseen = (self.unseen | other.unseen) - self.places.keys()
        self.launches += other.launches


@dataclass(frozen=True)
class _Launch:
    view: OperationView
    memory: Memory


class Memory:
    """The allocations that are alive: where each begins and ends, and which of them are variables."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: dict[int, int] = {}
        self.variables: dict[int, str] = {}
        """where a variable begins -> its symbol; "" where the recording does not tell"""

    def allocated(self, begin: int, size: int, variable: str | None) -> Memory:
        """The same with one more."""
        made = self._copy()
        if begin not in made._ends:
            made._begins.insert(bisect_right(made._begins, begin), begin)
        made._ends[begin] = begin + size
        made.variables.pop(begin, None)
        if variable is not None:
            made.variables[begin] = variable
        return made

    def freed(self, begin: int) -> Memory:
        """The same without one."""
        if begin not in self._ends:
            return self
        made = self._copy()
        made._begins.remove(begin)
        del made._ends[begin]
        made.variables.pop(begin, None)
        return made

    def _copy(self) -> Memory:
        made = Memory()
        made._begins, made._ends, made.variables = list(self._begins), dict(self._ends), dict(self.variables)
        return made

    def allocation(self, address: int) -> tuple[int, int] | None:
        """Where the allocation begins that an address lies in, or little behind, and where it ends."""
        at = bisect_right(self._begins, address)
        if not at:
            return None
        begin = self._begins[at - 1]
        end = max(self._ends[begin], begin + 1) + _SLACK
        if at < len(self._begins):
            end = min(end, self._begins[at])
        return (begin, end) if address < end else None

    def cut(self, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Cut a range where allocations begin: what lies in each, with where that begins."""
        while begin < end:
            at = bisect_right(self._begins, begin)
            stop = min(end, self._begins[at]) if at < len(self._begins) else end
            known = self.allocation(begin)
            if known is not None:
                yield known[0], begin, min(stop, known[1])
            begin = stop


@dataclass
class _Seen:
    """What was seen of one allocation in one launch, by mode."""

    surely: dict[str, ByteSet] = field(default_factory=dict)
    perhaps: dict[str, ByteSet] = field(default_factory=dict)
    """with what may have been touched besides"""

    def add(self, mode: str, surely: ByteSet, perhaps: ByteSet) -> None:
        self.surely[mode] = self.surely.get(mode, ByteSet()) | surely
        self.perhaps[mode] = self.perhaps.get(mode, ByteSet()) | perhaps

    def union(self, modes: Sequence[str], *, surely: bool) -> ByteSet:
        found = ByteSet()
        for mode in modes:
            found |= (self.surely if surely else self.perhaps).get(mode, ByteSet())
        return found


def compared(trace: Trace, readings: KernelReadings, most_shapes: int) -> Compared:
    """Compare the launches of a recording that were seen, of those kernels that were read or could not be.

    Extents are compared for the first `most_shapes` different launches of a kernel.
    """
    found = Compared()
    shapes = list(trace.launch_shapes)
    waiting: dict[int, _Launch] = {}
    memory = Memory()
    extents = _Extents(readings, most_shapes)
    unseen: set[Kernel] = set()
    for view in iterate(trace):
        if view.kind == OperationKind.ALLOC and view.references:
            first = view.references[0]
            variable = _label(trace, view.site) if view.detail == MemoryKind.DEVICE_SYMBOL else None
            memory = memory.allocated(first.address, first.size, variable)
        elif view.kind == OperationKind.FREE and view.references:
            memory = memory.freed(view.references[0].address)
        elif view.kind == OperationKind.LAUNCH and 0 < view.shape < len(shapes):
            kernel = kernel_of(shapes[view.shape])
            if kernel in readings.read or kernel in readings.unread:
                waiting[view.sequence] = _Launch(view, memory)
                unseen.add(kernel)
        elif view.kind == OperationKind.LAUNCH_ACCESSES and view.object in waiting:
            launch = waiting.pop(view.object)
            shape = shapes[launch.view.shape]
            kernel = kernel_of(shape)
            found.launches += 1
            _compare(found, kernel, shape, launch, view, readings, extents)
    for kernel, reason in readings.unread.items():
        if kernel in found.places:
            found.unread[kernel] = reason
    found.unseen = unseen - found.places.keys()
    return found


def _label(trace: Trace, site: int) -> str:
    return trace.sites[site].label if 0 < site < len(trace.sites) else ""


class _Extents:
    """How far launches reach; of each kernel's first different ones."""

    def __init__(self, readings: KernelReadings, most: int) -> None:
        self._readings = readings
        self._most = most
        self._count: Counter[Kernel] = Counter()
        self._known: dict[LaunchShape, Mapping[Word, WordExtents] | None] = {}

    def of(self, kernel: Kernel, shape: LaunchShape) -> Mapping[Word, WordExtents] | None:
        """By the word's offset; None: not looked at."""
        if shape not in self._known:
            code = self._readings.codes.get(kernel)
            sizes = shape.arguments and 0 not in shape.grid and 0 not in shape.block
            if code is None or not sizes or self._count[kernel] >= self._most:
                return None
            self._count[kernel] += 1
            words = frozenset(place.offset for place in shape.places)
            launch = launch_extents.Invocation(shape.grid, shape.block, shape.shared, shape.arguments, words)
            self._known[shape] = extents_of(code, launch)
        return self._known[shape]


def _compare(
    found: Compared,
    kernel: Kernel,
    shape: LaunchShape,
    launch: _Launch,
    told: OperationView,
    readings: KernelReadings,
    extents: _Extents,
) -> None:
    """Compare one launch."""
    seen = _by_allocation(launch.memory, told.references)
    accesses = readings.read.get(kernel)
    places = found.places.setdefault(kernel, {})
    known = None if accesses is None else extents.of(kernel, shape)
    mixed = accesses is not None and accesses.follows_found
    strong = _is_strong(readings, kernel)
    for base, held in _words_by_allocation(launch, shape, accesses).items():
        words = tuple(sorted((word for word, _ in held), key=str))
        said = _said(accesses, words)
        place = places.setdefault(words, Place(said, mixed=mixed))
        here = seen.pop(base, _Seen())
        place.launches += 1
        place.seen |= here.perhaps.keys()
        if accesses is None or said is None:
            continue
        contradictions = list(_mode_contradictions(said, here, strong))
        if mixed:
            place.unexplained |= bool(contradictions)
        else:
            place.contradictions.update(contradictions)
        if known is not None:
            _compare_extents(place, accesses, held, known, here, told.detail == SeenAccesses.ALL)
    if accesses is None or mixed or _reaches_more(accesses, shape):
        return
    for base in seen:
        # A variable of which the recording does not tell the symbol may be any that the kernel names.
        if launch.memory.variables.get(base) != "" or not accesses.variables:
            found.stray[kernel] = f"{' and '.join(sorted(seen[base].perhaps))} {base:#x}"


def _words_by_allocation(
    launch: _Launch, shape: LaunchShape, accesses: KernelAccesses | None
) -> dict[int, list[tuple[Word, int]]]:
    """Allocation -> offsets of the words that point into it, with their addresses; of variables their symbols."""
    offsets: dict[int, list[int]] = {}
    for place in shape.places:
        offsets.setdefault(place.reference, []).append(place.offset)
    words: dict[int, list[tuple[Word, int]]] = {}
    for number, reference in enumerate(launch.view.references):
        allocation = launch.memory.allocation(reference.address)
        if allocation is not None:
            for offset in offsets.get(number, [NO_WORD]):
                words.setdefault(allocation[0], []).append((offset, reference.address))
    for base, symbol in launch.memory.variables.items():
        # What is read of constant memory is not seen.
        if accesses is not None and symbol in accesses.variables.keys() - accesses.constants:
            words.setdefault(base, []).append((symbol, base))
    return words


def _by_allocation(memory: Memory, references: Sequence[Reference]) -> dict[int, _Seen]:
    """What was seen, by allocation; what lies in none is left out."""
    found: dict[int, _Seen] = {}
    for reference in references:
        modes, surely, perhaps = _touched(reference, memory.allocation(reference.address))
        for base, begin, end in memory.cut(perhaps.begin, perhaps.end):
            some, more = surely.within(begin, end), perhaps.within(begin, end)
            for mode in modes if some else ():
                found.setdefault(base, _Seen()).add(mode, some, more)
    return found


def _touched(reference: Reference, allocation: tuple[int, int] | None) -> tuple[Sequence[str], ByteSet, ByteSet]:
    """The modes of a reference that instrumentation told, the bytes surely touched, and those that may be."""
    begin, end = reference.address, reference.address + reference.size
    if reference.flags & SlotFlag.ATOMIC:
        modes: Sequence[str] = (UPDATE,)
    elif reference.mode is AccessMode.OPAQUE:
        modes = (SOME,)
    else:
        modes = [name for bit, name in ((AccessMode.READ, READ), (AccessMode.WRITE, WRITE)) if reference.mode & bit]
    if not reference.size:
        # A flag's size is not told, nor how far atomic operations in a row reach.
        far = begin + _SMALL if allocation is None or SOME in modes else allocation[1]
        return modes, ByteSet([(begin, begin + 1)]), ByteSet([(begin, far)])
    if reference.rows is not None:
        rows = reference.rows
        touched = ByteSet.of_rows(begin, rows.width, rows.pitch, rows.count, rows.slice_pitch, rows.slices)
        return modes, touched, touched
    whole = ByteSet([(begin, end)])
    if reference.flags & (SlotFlag.ASSUMED | SlotFlag.ATOMIC):
        return modes, ByteSet([(begin, begin + 1), (end - 1, end)]), whole
    return modes, whole, whole


def _said(accesses: KernelAccesses | None, words: Sequence[Word]) -> frozenset[str] | None:
    """In which ways words are used, by machine code; None: in any."""
    if accesses is None or NO_WORD in words:
        return None
    said: set[str] = set()
    for word in words:
        use = _use(accesses, word)
        if use is not None:
            if use.mode is AccessMode.OPAQUE:
                return None
            said |= _ways(use)
    return frozenset(said)


def _use(accesses: KernelAccesses, word: Word) -> Use | None:
    return accesses.variables.get(word) if isinstance(word, str) else accesses.use(word)


def _ways(use: Use) -> set[str]:
    if use.flags & SlotFlag.ATOMIC:
        return {UPDATE}
    return {name for bit, name in ((AccessMode.READ, READ), (AccessMode.WRITE, WRITE)) if use.mode & bit}


def _is_strong(readings: KernelReadings, kernel: Kernel) -> bool:
    """Whether loads or stores of a kernel are ordered like atomic operations: instrumentation tells no difference."""
    code = readings.codes.get(kernel)
    return code is None or any(
        each.opcode.startswith(("LD", "ST", "UST", "ULD")) and "STRONG" in each.opcode for each in code.instructions
    )


def _mode_contradictions(said: frozenset[str], seen: _Seen, strong: bool) -> Iterator[str]:
    for mode in seen.perhaps:
        explained = bool(said) if mode == SOME else mode in said or (mode == UPDATE and strong and bool(said))
        if not explained:
            yield f"{mode}, though said to be {' and '.join(sorted(said)) or 'no use'}"


def _reaches_more(accesses: KernelAccesses, shape: LaunchShape) -> bool:
    """Whether a kernel follows a word that is an address of which the recorder does not know the memory."""
    known = {place.offset for place in shape.places}
    for offset in accesses.words:
        if offset not in known and (not shape.arguments or any(shape.arguments[offset : offset + 8])):
            return True
    return False


def _compare_extents(
    place: Place,
    accesses: KernelAccesses,
    held: Sequence[tuple[Word, int]],
    known: Mapping[Word, WordExtents],
    seen: _Seen,
    whole: bool,
) -> None:
    """Compare the bytes that a launch is said to touch through words of one allocation with those that were seen."""
    parts: dict[str, list[tuple[int, Extent]]] = {}
    unknown: set[str] = set()
    in_part: list[tuple[int, Extent]] = []
    for word, address in held:
        use = _use(accesses, word)
        extents = known.get(word)
        for mode in () if use is None else sorted(_ways(use)):
            extent: Extent | None = getattr(extents, mode, None)
            if extent is None or not extent.whole:
                unknown.add(mode)
                if extent is not None:
                    in_part.append((address, extent))
            else:
                parts.setdefault(mode, []).append((address, extent))
    for mode in sorted(unknown | parts.keys()):
        place.extents["unknown" if mode in unknown else _kind([extent for _, extent in parts[mode]])] += 1
    # Of ordered loads and stores instrumentation says that they are updates.
    together = UPDATE in seen.perhaps and UPDATE not in parts.keys() | unknown
    for address, extent in in_part if whole else ():
        missing = _sure_bytes(address, extent) - seen.union((*MODES, SOME), surely=False)
        if missing:
            place.contradictions.add(f"not {missing.told(address)} of {_named([(address, extent)])}")
    groups = [tuple(sorted(unknown | parts.keys()))] if together else [(mode,) for mode in sorted(parts)]
    for modes in groups:
        told = [part for mode in modes for part in parts.get(mode, ())]
        all_modes = (*MODES, SOME) if together else (*modes, SOME)
        if not place.mixed and not unknown.intersection(modes):
            surely = seen.union(MODES if together else modes, surely=True)
            rest = surely - ByteSet.union(_bytes(address, extent) for address, extent in told)
            if rest:
                place.contradictions.add(f"{' and '.join(modes)} {rest.told(told[0][0])}, outside of {_named(told)}")
        if whole:
            perhaps = seen.union(all_modes, surely=False)
            for address, extent in told:
                missing = _sure_bytes(address, extent) - perhaps
                if missing:
                    place.contradictions.add(
                        f"{' and '.join(modes)} not {missing.told(address)} of {_named([(address, extent)])}"
                    )


def _kind(extents: Sequence[Extent]) -> str:
    if not all(extent.sure for extent in extents):
        return "within"
    return "exact" if all(extent.dense or extent.rows for extent in extents) else "gaps"


def _bytes(address: int, extent: Extent) -> ByteSet:
    """All bytes that may be touched."""
    if extent.sure and not extent.dense and extent.rows:
        return _rows(address, extent)
    return ByteSet([(address + extent.begin, address + extent.end)])


def _sure_bytes(address: int, extent: Extent) -> ByteSet:
    """The bytes that are touched by every execution, by what is said."""
    if not extent.sure or extent.end <= extent.begin:
        return ByteSet()
    if extent.dense:
        return ByteSet([(address + extent.begin, address + extent.end)])
    if extent.rows:
        return _rows(address, extent)
    first, last = address + extent.begin, address + extent.end - 1
    return ByteSet([(first, first + 1), (last, last + 1)])


def _rows(address: int, extent: Extent) -> ByteSet:
    return ByteSet.of_rows(
        address + extent.begin, extent.width, extent.pitch, extent.rows, extent.slice_pitch, max(1, extent.slices)
    )


def _named(told: Sequence[tuple[int, Extent]]) -> str:
    base = told[0][0]
    return "; ".join(
        f"{address - base + extent.begin} to {address - base + extent.end}"
        + ("" if extent.sure else " at most")
        + (f" in rows of {extent.width} every {extent.pitch}" if extent.rows else "" if extent.dense else " with gaps")
        for address, extent in told
    )

"""What each side of a race does, and what both touch, in the program's own words."""

from __future__ import annotations

from msgspec.structs import replace

from streamsan.findings.access import Access, Bytes, Deed, KnownFrom, Overlap
from streamsan.findings.finding import Related
from streamsan.order.facts import Operation, Touch
from streamsan.rules.case import Case
from streamsan.rules.collective_names import collective_noun
from streamsan.rules.launch_names import is_library_call
from streamsan.rules.touched_bytes import bytes_of, in_words, pitch_of, shared
from streamsan.trace.trace import RECORDING
from streamsan.vocabulary import AccessMode, MemoryKind, OperationKind, RelatedRole, SlotFlag

_USES = (RelatedRole.USE, RelatedRole.OTHER)
_NODES = (OperationKind.GRAPH_NODE, OperationKind.GRAPH_NODE_UPDATE)
_DEEDS = {
    AccessMode.READ: Deed.READ,
    AccessMode.WRITE: Deed.WRITE,
    AccessMode.READ_WRITE: Deed.READ_WRITE,
}
_VERBS = {
    Deed.READ: ("reads", "read", "reading"),
    Deed.WRITE: ("writes", "write", "writing"),
    Deed.READ_WRITE: ("reads and writes", "read and write", "reading and writing"),
    Deed.UPDATE: ("updates", "update", "updating"),
    Deed.UNKNOWN: ("accesses", "read or write", "using"),
}
"""as one does it, as it may do it, as it is doing it"""
_SAID = {
    KnownFrom.MACHINE_CODE: "from its machine code",
    KnownFrom.DEVICE: "seen on the device",
    KnownFrom.HOST: "seen as it happened",
    KnownFrom.SIGNATURE: "from its signature",
    KnownFrom.SOURCE: "from its source",
    KnownFrom.DOCUMENTATION: "from its documentation",
    KnownFrom.ARGUMENTS: "from its arguments",
}


class RaceSides:
    """The two sides of a case about a race: `later` is the operation that is reported."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._memory = case.memory() if case.memory_name() else "it"
        earlier = case.first(*_USES)
        self.later = self._access(case.operation, case.fact.touches[0])
        self.earlier = None if earlier is None else self._access(earlier, case.fact.touches[1])
        self._pitch = pitch_of(*(each.bytes for each in self.both))

    @property
    def both(self) -> tuple[Access, ...]:
        """The sides of which something is known, the earlier one first."""
        return tuple(each for each in (self.earlier, self.later) if each is not None)

    def later_words(self) -> str:
        """Return "it writes bytes 0 to 1,023 of `d_x` (from its machine code)"; "" where nothing is known."""
        return self._words(self.later, self._case.operation, self._case.fact.touches[0])

    def earlier_words(self) -> str:
        """Return the same of the earlier side."""
        earlier = self._case.first(*_USES)
        return "" if earlier is None else self._words(self.earlier, earlier, self._case.fact.touches[1])

    def later_range(self) -> str:
        """Return `later_words`; "" where it is not known which bytes they are, or it is the whole a call is given."""
        return self.later_words() if self._has_range(self.later) else ""

    def earlier_range(self) -> str:
        """Return the same of the earlier side."""
        return self.earlier_words() if self._has_range(self.earlier) else ""

    def _has_range(self, access: Access | None) -> bool:
        if access is None or access.bytes is None or access.bytes.last is None or self._case.allocation is None:
            return False
        whole = Bytes(0, self._case.allocation.size - 1)
        return access.known_from is not KnownFrom.ARGUMENTS or access.bytes != whole

    def later_verb(self) -> str:
        """Return what the later side does: "writes"."""
        return _VERBS[self._deed(self._case.operation, self._case.fact.touches[0])][0]

    def earlier_gerund(self) -> str:
        """Return what the earlier side may still be doing: "writing"."""
        earlier = self._case.first(*_USES)
        return "using" if earlier is None else _VERBS[self._deed(earlier, self._case.fact.touches[1])][2]

    def overlap(self) -> Overlap | None:
        """Return what both sides surely touch; None where that is not known."""
        if self.earlier is None or self.later is None or not (self.earlier.certain and self.later.certain):
            return None
        one, other = self.earlier.bytes, self.later.bytes
        if one is None or other is None or self._case.allocation is None:
            return None
        found = shared(one, other)
        if found is None:
            return None
        return Overlap(found, f"both touch {self._in_words(found)}")

    def _in_words(self, touched: Bytes | None) -> str:
        size = 0 if self._case.allocation is None else self._case.allocation.size
        return self._memory if touched is None else in_words(touched, self._memory, size, self._pitch)

    def _words(self, access: Access | None, operation: Operation, touch: Touch | None) -> str:
        if access is None or touch is None or self._case.allocation is None:
            return ""
        actor = f"{access.work}{self._in_graph(touch.node)}" if touch.node is not None else "it"
        verb, bare, _ = _VERBS[access.deed]
        if operation.flags & SlotFlag.ASSUMED or access.deed is Deed.UNKNOWN:
            verb = f"may {bare}"
        if access.known_from is KnownFrom.HOST:
            actor = "it first"  # what follows on the same page is not noted
        what = self._in_words(access.bytes)
        if access.bytes is not None and access.bytes.last is not None and not access.certain:
            what = f"some of {what.removeprefix('all of ')}"
        atomically = " by atomic operations" if access.deed is Deed.UPDATE else ""
        said = _SAID.get(access.known_from)
        return f"{actor} {verb} {what}{atomically}" + (f" ({said})" if said else "")

    def _in_graph(self, node: Operation) -> str:
        line = self._case.line(node)
        return f" of the graph (line {line})" if line else " of the graph"

    def _access(self, operation: Operation, touch: Touch | None) -> Access | None:
        if touch is None:
            return None
        acting = touch.node or operation
        place = self._case.place(operation)
        deed = self._deed(operation, touch)
        touched = bytes_of(touch, self._case.allocation)
        known = self._known_from(acting, touch, deed)
        return Access(place.file, place.line, self._case.does(acting), deed, touch.surely, touched, known)

    @staticmethod
    def _deed(operation: Operation, touch: Touch | None) -> Deed:
        if touch is not None and touch.atomic:
            return Deed.UPDATE
        return _DEEDS.get(AccessMode(operation.flags & 3), Deed.UNKNOWN)

    def _known_from(self, acting: Operation, touch: Touch, deed: Deed) -> KnownFrom:
        names = self._case.names
        recorded = names.origin == RECORDING
        if acting.kind is OperationKind.HOST_ACCESS:
            return KnownFrom.HOST if recorded else KnownFrom.SOURCE
        if deed is Deed.UNKNOWN:
            return KnownFrom.NOWHERE
        if acting.kind is OperationKind.HOST_FUNCTION and not recorded:
            return KnownFrom.SOURCE
        if collective_noun(names.site(acting.site).label):
            return KnownFrom.ARGUMENTS
        if not (acting.kind is OperationKind.LAUNCH or self._is_kernel_node(acting, touch)):
            return KnownFrom.ARGUMENTS
        if acting.sequence in names.seen_launches and touch.end and not self._case.is_constant():
            return KnownFrom.DEVICE
        if not recorded:
            is_library = is_library_call(names.site(acting.site).label, names.origin)
            return KnownFrom.DOCUMENTATION if is_library else KnownFrom.SOURCE
        # No signature tells of variables.
        variable = self._case.allocation is not None and self._case.allocation.kind is MemoryKind.DEVICE_SYMBOL
        if variable or self._case.is_read_from_code(acting):
            # Of OpenCL's kernels their text is kept.
            return KnownFrom.SOURCE if self._case.platform.name == "opencl" else KnownFrom.MACHINE_CODE
        return KnownFrom.SIGNATURE if deed is Deed.READ else KnownFrom.NOWHERE

    def _is_kernel_node(self, acting: Operation, touch: Touch) -> bool:
        if acting.kind not in _NODES:
            return False
        return self._case.is_read_from_code(acting) or "kernel" in self._case.does(acting).split("`", 1)[0]


def with_words(line: Related, words: str) -> Related:
    """Return a related line that says what is done there as well."""
    return replace(line, message=f"{line.message}: {words}") if words else line

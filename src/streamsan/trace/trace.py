"""The trace: operations of one process family with their side tables, the same class in memory and from a file."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from streamsan.trace.launch_shapes import UNKNOWN_SHAPE, LaunchShape
from streamsan.trace.modules import UNKNOWN_MODULE, Module
from streamsan.trace.packed_slots import PackedSlots
from streamsan.trace.ranks import ranks_by_process
from streamsan.trace.site import UNKNOWN_SITE, Site
from streamsan.trace.slot_fields import CHUNK
from streamsan.trace.source_lines import SourceLines
from streamsan.trace.symbols import NO_SYMBOLS, Address, Frame

if TYPE_CHECKING:
    from streamsan.trace.current_devices import CurrentDevices
    from streamsan.trace.packed_slots import Packed
    from streamsan.trace.stacks import FrameSource, Stacks
    from streamsan.trace.store import Slots, SlotStore

RECORDING = "recording"
PARTIAL = "partial result"
"""begins what is said of a trace whose writer was cut off"""
BEGINS_LATE = "the recording begins"
"""begins what is said of a trace whose older part is lost"""


class Thread(Struct, frozen=True):
    """A host thread. `process` is a process index of the trace (0 is the first), not an operating system's id."""

    process: int
    name: str


class Trace:
    """Operations in the order of their issue, and what their numbers stand for. Made by TraceBuilder or the reader."""

    def __init__(
        self,
        path: str,
        slots: SlotStore,
        *,
        threads: Sequence[Thread] = (),
        apis: Sequence[str] = ("",),
        sites: Sequence[Site] = (UNKNOWN_SITE,),
        platform: str = "cuda",
        origin: str = "source",
        complete: bool = True,
        problems: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        modules: Sequence[Module] = (UNKNOWN_MODULE,),
        symbols: Mapping[Address, tuple[Frame, ...]] = NO_SYMBOLS,
        source_lines: SourceLines | None = None,
        launch_shapes: Sequence[LaunchShape] = (UNKNOWN_SHAPE,),
    ) -> None:
        self.path = path
        """the file, or the source it came from"""
        self.platform = platform
        """"cuda" or "opencl" """
        self.origin = origin
        """"source", "recording", "simulation" or "synthetic" """
        self.complete = complete
        """False: the writer was cut off; what is here is a readable prefix"""
        self.problems = list(problems)
        """what could not be read, one line each"""
        self.threads = list(threads)
        """index -> Thread"""
        self.apis = list(apis)
        """index -> API name; index 0 is "" """
        self.sites = sites
        """id -> Site as it was written; id 0 is not known. `site` gives the place to show"""
        self.modules = modules
        """id -> Module; id 0 is not known"""
        self.symbols = symbols
        """what the file says is at addresses of modules"""
        self.source_lines: SourceLines = source_lines or {}
        """lines of sources that the file carries"""
        self.launch_shapes = launch_shapes
        """id -> what a kernel was launched with; id 0 is not known"""
        self.stacks: Stacks | None = None
        """how the sites of a recording, which are whole stacks, are read"""
        if origin == RECORDING:
            # Imported late: nothing else has stacks.
            from streamsan.trace.stacks import Stacks

            # Only in CUDA the host has a function of a kernel's name, by which it is launched.
            self.stacks = Stacks(sites, modules, symbols, named_stubs=platform == "cuda")
        self.metadata: dict[str, Any] = dict(metadata or {})
        """the header's other metadata, JSON values"""
        self.slots = slots
        self.read_kernels: Container[int] = ()
        """sites of launches and nodes whose kernels' accesses are known from machine code, of the slots read so far"""
        self.talkers: Container[int] = ()
        """sites of launches whose kernels may set or poll flags that the host sees, of the slots read so far"""
        self.seen_launches: Container[int] = ()
        """sequences of launches and nodes whose accesses were seen on the device (`streamsan run --accesses`)"""
        self.constants: Container[str] = ()
        """symbols of variables in constant memory that kernels read: what is seen on the device has none of that"""
        self.judged_from = 0
        """number of the first operation that is judged; those before it are the past. 0: all are"""
        self._local: Callable[[str], str] | None = None
        self._devices: CurrentDevices | None = None

    @property
    def operations(self) -> int:
        """The number of operations: slots that are not continuations. Counted once, on first use."""
        return self.slots.count()

    @property
    def driver(self) -> str:
        """The driver's version in words, "" when not known."""
        value = self.metadata.get("driver", "")
        return value if isinstance(value, str) else ""

    @property
    def clock(self) -> int:
        """The clock origin: nanoseconds since the Unix epoch at which `time` counts from; 0 when not known."""
        value = self.metadata.get("clock_origin", 0)
        return value if isinstance(value, int) and not isinstance(value, bool) else 0

    @property
    def ranks(self) -> dict[int, int]:
        """The ranks of the processes by their indices, where a launcher started several."""
        return ranks_by_process(self.metadata)

    def judge_from(self, sequence: int) -> None:
        """Judge what came at `sequence` (from 1) or later, of a process that goes on: what else is missing is right."""
        self.judged_from = sequence
        self.complete = True
        known = (PARTIAL, BEGINS_LATE)
        self.problems[:] = [problem for problem in self.problems if not any(words in problem for words in known)]

    def relocate(self, local: Callable[[str], str]) -> None:
        """Name sources by other paths: `local` gives the path of this machine for one of the trace."""
        self._local = local
        self.source_lines = {local(file): lines for file, lines in self.source_lines.items()}

    def site(self, number: int) -> Site:
        """Return a site by its id; id 0, and an id nobody wrote, is a site with no file.

        Of a recorded stack it is the innermost frame of the program's own code; `caller` leads on from there.
        """
        if not 0 < number < len(self.sites):
            return UNKNOWN_SITE
        return self._relocated(self.sites[number] if self.stacks is None else self.stacks.site(number))

    def stack(self, number: int) -> tuple[Site, ...]:
        """Return the frames of a site, innermost first, functions inlined into others included."""
        if not 0 < number < len(self.sites):
            return ()
        if self.stacks is not None:
            return tuple(map(self._relocated, self.stacks.frames(number)))
        chain: list[Site] = []
        while number:
            chain.append(self.sites[number])
            number = chain[-1].caller
        return tuple(map(self._relocated, chain))

    def library_of(self, number: int) -> str:
        """Return the name of the library that made the call of this site by itself; "" where own code led to it."""
        return self.stacks.library_of(number) if self.stacks is not None and 0 < number < len(self.sites) else ""

    def library_call(self, number: int) -> Site:
        """Return the frame of a Python library that the program's line called there; a site with no file: no such."""
        if self.stacks is None or not 0 < number < len(self.sites):
            return UNKNOWN_SITE
        return self.stacks.library_call(number)

    def current_device(self, thread: int, sequence: int) -> int | None:
        """Return the device that is current to a thread at an operation, None where that is not known.

        The whole trace is read for the first answer.
        """
        if self._devices is None:
            # Imported late: it reads slots, and needs NumPy.
            from streamsan.trace.current_devices import CurrentDevices

            self._devices = CurrentDevices(self.chunks())
        return self._devices.of(thread, sequence)

    def _relocated(self, site: Site) -> Site:
        if self._local is None or not site.line:
            return site
        file = self._local(site.file)
        return site if file == site.file else replace(site, file=file)

    def symbolise_with(self, source: FrameSource) -> None:
        """Ask `source` for addresses of which the file does not say what is there."""
        if self.stacks is not None:
            self.stacks.symbolise_with(source)

    def chunks(self, size: int = CHUNK, first: int = 0) -> Iterator[Slots]:
        """Yield SLOT arrays in global sequence order; a slot is never cut from its continuations.

        An array has at most max(size, 256) slots and is safe to keep (it is not written again). Memory stays bounded
        whatever the length of the trace as long as the caller drops them. With `first`, operations with a smaller
        sequence may be left out where that saves reading. Raises TraceError when a slot of a file is damaged.
        """
        return self.slots.chunks(size, first)

    def packed(self) -> Iterator[Packed]:
        """Yield the bytes of all slots in global sequence order, in whole operations. Raises TraceError as `chunks`."""
        if isinstance(self.slots, PackedSlots):
            yield self.slots.packed
            return
        # Imported late: it needs NumPy, which nothing else of a trace of source does.
        from streamsan.trace.store import packed_of

        for chunk in self.chunks():
            yield packed_of(chunk)

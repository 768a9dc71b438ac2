"""A fact with its names: operations, streams and memory in the program's own words."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from pathlib import PurePath
from typing import Protocol

from streamsan.findings.finding import Basis, Contract, Finding, Location, Observed, Place, Related
from streamsan.order.facts import AllocationFact, Fact, Operation
from streamsan.platforms import Platform, platform_of_call
from streamsan.rules.collective_names import collective_name
from streamsan.rules.launch_names import is_library_call, kernel_name, launched
from streamsan.rules.names_in_lines import MEMORY, STREAM, name_in_line
from streamsan.rules.nouns import MADE_BY, MADE_HERE, NODES, PLAIN, WORK
from streamsan.trace.host_threads import thread_name
from streamsan.trace.site import Site
from streamsan.trace.source_lines import SourceLines
from streamsan.trace.trace import RECORDING, Thread
from streamsan.vocabulary import AccessMode, MemoryKind, OperationKind, RelatedRole, StreamKind

DEFAULT = "the default stream"
PER_THREAD = "the per-thread default stream"
ANONYMOUS = "the memory"
LONGEST_EXPLANATION = 300
SMALLEST_UNIT = 1 << 10


class Names(Protocol):
    """What of a trace the rules need: its side tables."""

    @property
    def path(self) -> str:
        """File the trace was read from, or the source it came from."""

    @property
    def platform(self) -> str:
        """Name of the platform: "cuda"."""

    @property
    def origin(self) -> str:
        """How it came about: "source", "recording", "simulation", "synthetic"."""

    @property
    def apis(self) -> Sequence[str]:
        """API names by index; index 0 is empty."""

    @property
    def threads(self) -> Sequence[Thread]:
        """Host threads by index."""

    @property
    def ranks(self) -> Mapping[int, int]:
        """Ranks of processes by their indices, where a launcher started several."""

    @property
    def read_kernels(self) -> Container[int]:
        """Sites of kernels whose accesses are known from machine code."""

    @property
    def talkers(self) -> Container[int]:
        """Sites of launches in a recording whose kernels may talk to the host while they run."""

    @property
    def seen_launches(self) -> Container[int]:
        """Sequences of launches and nodes whose accesses were seen on the device."""

    @property
    def constants(self) -> Container[str]:
        """Symbols of variables in constant memory, whose accesses are not seen on the device."""

    @property
    def source_lines(self) -> SourceLines:
        """Lines of sources that a recording carries."""

    def site(self, number: int) -> Site:
        """Return the site with this number."""

    def library_of(self, number: int) -> str:
        """Return the installed library that made the call of this site by itself, "" where none did."""

    def library_call(self, number: int) -> Site:
        """Return the frame of a Python library that the program's line called; a site with no file: no such."""

    def current_device(self, thread: int, sequence: int) -> int | None:
        """Return the device that is current to a thread at an operation, None where that is not known."""


class Case:
    """One fact of one trace, with what a message needs to call its parts by name."""

    def __init__(self, names: Names, fact: Fact) -> None:
        self.names = names
        self.fact = fact

    def is_of_library(self, operation: Operation) -> bool:
        """Tell whether an installed library made the call by itself, so that no line of the program can mend it."""
        return bool(self.library_of(operation))

    def library_of(self, operation: Operation) -> str:
        """Return the name of the installed library that made the call by itself, "" where none did."""
        return self.names.library_of(operation.site)

    def is_read_from_code(self, operation: Operation) -> bool:
        """Tell whether it is a kernel's launch or node, of which its code says what it reads and writes."""
        return operation.kind in _KERNELS and operation.site in self.names.read_kernels

    # -- the platform ---------------------------------------------------------------------------
    @property
    def platform(self) -> Platform:
        """The platform of the fact's call: a program may use several. Without a call that of the trace."""
        name = self._api_name(self.fact.operation)
        return platform_of_call(name, self.names.platform)

    def contract(self, key: str) -> Contract | None:
        """Return what the platform's documentation says on the rule in this case; None where it says nothing."""
        row = self._text("contract", key)
        return Contract(*row) if row else None

    def observed(self, key: str) -> Observed | None:
        """Return what the platform's hardware did in this case; None where that was not measured."""
        row = self._text("observed", key)
        return Observed(*row, *self.platform.measured_on) if row else None

    def _text(self, part: str, key: str) -> tuple[str, str] | None:
        row = self.platform.rule_texts.get(f"SS{int(self.fact.code)}", {}).get(part, {}).get(key)
        return (row[0], row[1]) if row else None

    def phrase(self, key: str, **names: str) -> str:
        """Return what to write into a program of the platform."""
        text: str = self.platform.rule_texts["phrase"][key]
        return text.format(**names)

    def in_own_words(self, text: str) -> str:
        """Return a text in the words of the platform, and of what the case is about: an object, or memory."""
        memory = self.allocation
        of_object = memory is not None and memory.kind is MemoryKind.CL_BUFFER
        return self.platform.in_own_words(text, of_object)

    def error_name(self, operation: Operation) -> str:
        """Return what the status of a call is called (cudaErrorInvalidValue)."""
        return self.platform.error_name(operation.status, self.api(operation))

    # -- parts ----------------------------------------------------------------------------------

    @property
    def operation(self) -> Operation:
        """The operation that the fact reports."""
        return self.fact.operation

    @property
    def allocation(self) -> AllocationFact | None:
        """The allocation that the fact is about."""
        return self.fact.allocation

    def first(self, *roles: RelatedRole) -> Operation | None:
        """Return the first related operation that has one of these roles."""
        for role, operation in self.fact.related:
            if role in roles:
                return operation
        return None

    def all_of(self, *roles: RelatedRole) -> list[Operation]:
        """Return the related operations that have one of these roles; once what is there by its read and its write."""
        found = {operation.sequence: operation for role, operation in reversed(self.fact.related) if role in roles}
        return list(reversed(found.values()))

    def ranks(self) -> tuple[int, ...]:
        """Return the ranks of the processes that take part, where the job has several; usually one."""
        known = self.names.ranks
        if not known:
            return ()
        operations = (self.operation, *(operation for _, operation in self.fact.related))
        return tuple(sorted({known[each.process] for each in operations if each.process in known}))

    # -- names ----------------------------------------------------------------------------------

    def memory(self) -> str:
        """Return the allocation's name in backticks (`d_x`), "the 4 MiB allocated at x.cu:12", or "the memory"."""
        name = self.memory_name()
        if name:
            return f"`{name}`"
        return self._memory_of_recording() if self.names.origin == RECORDING else ANONYMOUS

    def memory_name(self) -> str:
        """Return what the program calls the allocation, "" when that is not known."""
        if self.allocation is None:
            return ""
        return self.names.site(self.allocation.site).label or self._name_in_line(self.allocation.site, MEMORY)

    def _name_in_line(self, number: int, makes: re.Pattern[str]) -> str:
        """Return what the line of a recorded call calls what is made there, "" where that is not known."""
        site = self.names.site(number)
        text = self.names.source_lines.get(site.file, {}).get(site.line, "")
        if self.names.origin != RECORDING or not text:
            return ""
        return name_in_line(site.file, text, makes, inner=bool(site.caller))

    def _memory_of_recording(self) -> str:
        """Return how to tell memory apart that has no name: how much it is, and where it came from."""
        allocation = self.allocation
        if allocation is None:
            return ANONYMOUS
        site = self.names.site(allocation.site)
        # In the singular, as findings go on with "is freed".
        small = 0 < allocation.size < SMALLEST_UNIT
        size = f"the {allocation.size}-byte block" if small else f"the {byte_count(allocation.size)}"
        size = size if allocation.size else ANONYMOUS
        if not site.line:
            return size if small or not allocation.size else f"{size} of memory"
        return f"{size} {MADE_BY.get(allocation.kind, 'allocated')} at {PurePath(site.file).name}:{site.line}"

    def bare_memory(self) -> str:
        """Return the allocation's name for use in code. Without one, a placeholder that shows that it is one."""
        if self.memory_name() or self.allocation is None:
            return self.memory_name() or "<pointer>"
        return self._placeholder("pointer", self.allocation.site, " from")

    def stream(self, operation: Operation | None) -> str:
        """Return which stream an operation runs on: "stream `upload`"; "the host" for none, "the graph" for a node."""
        if operation is None or operation.stream == 0:
            return "the host"
        if operation.kind is OperationKind.GRAPH_NODE:
            return "the graph"
        if operation.stream_kind is StreamKind.LEGACY or operation.stream == self.platform.legacy_stream:
            return self._default_stream(operation)
        if operation.stream_kind is StreamKind.PER_THREAD or operation.stream == self.platform.per_thread_stream:
            return self._per_thread_stream(operation)
        label = self.stream_label(operation)
        if label or not operation.stream_number or self.names.origin != RECORDING:
            return f"stream `{label}`" if label else "its stream"
        return f"stream {operation.stream_number}"

    def _default_stream(self, operation: Operation) -> str:
        """Return the name of a device's default stream; whose it is, where the fact is about several devices'."""
        own = self.platform.legacy_stream
        several = [
            each
            for each in (self.operation, *(other for _, other in self.fact.related))
            if each.stream and (each.stream_kind is StreamKind.LEGACY or each.stream == own)
        ]
        if len(several) > 1:
            device = {each.sequence: self.names.current_device(each.thread, each.sequence) for each in several}
            mine = device.get(operation.sequence)
            if mine is not None and any(other not in (None, mine) for other in device.values()):
                return f"{DEFAULT} of device {mine}"
        return DEFAULT

    def _per_thread_stream(self, operation: Operation) -> str:
        """Return the name of a thread's default stream; whose it is, where the fact is about several threads'."""
        own = self.platform.per_thread_stream
        threads = {
            each.thread
            for each in (self.operation, *(other for _, other in self.fact.related))
            if each.stream and (each.stream_kind is StreamKind.PER_THREAD or each.stream == own)
        }
        if len(threads) < 2:
            return PER_THREAD
        return f"{PER_THREAD} of {self.thread(operation).replace('host thread ', '')}"

    def thread(self, operation: Operation) -> str:
        """Return the name of the host thread that issued an operation: "host thread `producer`"."""
        return thread_name(self.names.threads, operation.thread)

    def stream_label(self, operation: Operation) -> str:
        """Return the name that the program gave an operation's stream, "" when it is not known."""
        if not operation.stream_site:
            return ""
        # A stream that a caller hands in is known since its first use: that call's label names something else.
        own = {self.operation.site, *(other.site for _, other in self.fact.related)}
        if operation.stream_assumed and operation.stream_site in own:
            return ""
        label = self.names.site(operation.stream_site).label
        return label or self._stream_in_line(operation)

    def _stream_in_line(self, operation: Operation) -> str:
        """Return a stream's name in the line that makes it, where no other stream of the fact is made there."""
        mine = self.names.site(operation.stream_site)
        for _, other in ((RelatedRole.OTHER, self.operation), *self.fact.related):
            site = self.names.site(other.stream_site)
            if other.stream != operation.stream and (site.file, site.line) == (mine.file, mine.line):
                return ""
        name = self._name_in_line(operation.stream_site, STREAM)
        return "" if "[" in name else name

    def stream_argument(self, operation: Operation | None) -> str:
        """Return what to write as the stream argument of a call. Without a name, `<stream 2, made at x.cu:12>`.

        A recording knows no names: a placeholder says where the program made the stream, and that it is no code.
        """
        name = self.stream(operation)
        if operation is not None and name == f"stream {operation.stream_number}":
            known_since = "first used" if operation.stream_assumed else "made"
            return self._placeholder(name, operation.stream_site, f", {known_since} at")
        fixed = {
            "the host": "<stream>",
            "its stream": "<stream>",
            "the graph": "<stream>",
        }
        if name.startswith(PER_THREAD):
            return self.phrase("per_thread_stream")
        if name.startswith(DEFAULT):
            return self.phrase("default_stream")
        return fixed.get(name) or name.removeprefix("stream ").strip("`")

    def _placeholder(self, what: str, number: int, where: str) -> str:
        """Return what stands for a name that is not known, with the place where the program got the value."""
        site = self.names.site(number)
        return f"<{what}{where} {PurePath(site.file).name}:{site.line}>" if site.line else f"<{what}>"

    def api(self, operation: Operation) -> str:
        """Return what the program called: the API's name, or the runtime's function that called the driver's; or ""."""
        name = self._api_name(operation)
        # A recorder sees the hot calls in the driver only, and finds who called it in the stack.
        return (self.names.site(operation.site).runtime if self.platform.is_low_level(name) else "") or name

    def _api_name(self, operation: Operation) -> str:
        apis = self.names.apis
        return apis[operation.api] if 0 < operation.api < len(apis) else ""

    def call(self, operation: Operation) -> str:
        """Return the operation's call in backticks, or a plain description of it; a launch by its kernel's name."""
        api = self.api(operation)
        if operation.kind is OperationKind.LAUNCH and api in _LAUNCHED_BY_SYNTAX:
            label = self.names.site(operation.site).label
            if is_library_call(label, self.names.origin):
                return f"`{label}`"
            return f"the launch of kernel `{kernel_name(label)}`" if label else "a kernel launch"
        return f"`{api}`" if api else PLAIN.get(operation.kind, "the call")

    def does(self, operation: Operation | None) -> str:
        """Return the name of a piece of work: "kernel `scale`", "the copy", "the host"."""
        if operation is None:
            return "pending work"
        label = self.names.site(operation.site).label
        kind = operation.kind
        if kind in _KERNELS and (collective := collective_name(label)):
            return collective
        if kind is OperationKind.LAUNCH:
            return launched(label, self.names.origin)
        if kind is OperationKind.HOST_FUNCTION:
            return f"host function `{label}`" if label else "a host function"
        if kind is OperationKind.HOST_ACCESS:
            return "the host"
        if kind is OperationKind.GRAPH_NODE:
            # In a recording only kernels have names.
            if label and self.names.origin == RECORDING:
                return launched(label, RECORDING)
            return self._node(label, self.api(operation), self.names.origin)
        if kind is OperationKind.OPAQUE_CALL:
            return f"the call of `{label}`" if label else "a call that cannot be seen"
        noun = WORK.get(kind)
        api = self.api(operation)
        if noun is None:
            return f"`{api}`" if api else PLAIN.get(kind, "an operation")
        return f"{noun} (`{api}`)" if api else noun

    @staticmethod
    def _node(label: str, api: str, origin: str) -> str:
        """Return the name of a graph's node: captured calls have their own API, others cudaGraphAdd...Node."""
        if "Launch" in api or "KernelNode" in api or (label and not api):
            return launched(label, origin)
        noun = next((noun for part, noun in NODES if part in api), "")
        return f"{noun} (`{api}`)" if noun else f"the graph node (`{api}`)" if api else "a node of the graph"

    def verb(self, operation: Operation | None) -> str:
        """Return what the work does to the memory: "reading", "writing", or "using" where that is not known."""
        # Bits 0 and 1 of a fact's operation are its access to this memory, not to its first argument's.
        mode = AccessMode.OPAQUE if operation is None else AccessMode(operation.flags & 3)
        if mode is AccessMode.READ:
            return "reading"
        return "writing" if mode is AccessMode.WRITE else "using"

    def driver_says(self) -> str:
        """Return the driver's own words on why the fact's operation failed, "" where it gave none."""
        text = self.fact.explained
        return text if len(text) <= LONGEST_EXPLANATION else text[: LONGEST_EXPLANATION - 3] + "..."

    # -- places ---------------------------------------------------------------------------------

    def place(self, operation: Operation) -> Place:
        """Return where an operation was issued."""
        return self._place(operation.site)

    def _place(self, number: int) -> Place:
        site = self.names.site(number)
        return Place(site.file or self.names.path, site.line, site.column)

    def line(self, operation: Operation | None) -> int:
        """Return the line of an operation, 0 when not known."""
        return self.names.site(operation.site).line if operation is not None else 0

    def before(self, operation: Operation | None, otherwise: str) -> str:
        """Return "before line 41", or before what where the line is not known."""
        line = self.line(operation)
        return f"before line {line}" if line else f"before {otherwise}"

    def location(self, operation: Operation) -> Location:
        """Return where a finding about this operation is reported."""
        return self._location(operation.site)

    def allocation_location(self) -> Location | None:
        """Return where the allocation was made, None when not known."""
        if self.allocation is None or not self.names.site(self.allocation.site).line:
            return None
        return self._location(self.allocation.site)

    def _location(self, number: int) -> Location:
        site = self.names.site(number)
        end_line = max(site.line, site.end_line)
        file = site.file or self.names.path
        return Location(file, site.line, site.column, site.function, end_line, site.end_column)

    def operation_places(self) -> frozenset[Place]:
        """Return the places of all operations of the fact."""
        sites = [self.operation.site, *(operation.site for _, operation in self.fact.related)]
        if self.allocation is not None:
            sites.append(self.allocation.site)
        return frozenset(self._place(number) for number in sites if self.names.site(number).line)

    def cause_places(self) -> frozenset[Place]:
        """Return the places that identify the cause: the allocation, and the operations that conflict."""
        roles = (RelatedRole.USE, RelatedRole.FREE, RelatedRole.DESTROY, RelatedRole.RESET, RelatedRole.FORK)
        sites = [operation.site for role, operation in self.fact.related if role in roles]
        if self.allocation is not None:
            sites.append(self.allocation.site)
        return frozenset(self._place(number) for number in sites if self.names.site(number).line)

    def memory_places(self) -> frozenset[Place]:
        """Return the places where the fact's memory was made."""
        sites = [operation.site for operation in self.all_of(RelatedRole.ALLOC)]
        if self.allocation is not None:
            sites.append(self.allocation.site)
        return frozenset(self._place(number) for number in sites if self.names.site(number).line)

    # -- related lines --------------------------------------------------------------------------

    def related(self, role: RelatedRole, operation: Operation, message: str) -> Related:
        """Return a related line of a finding."""
        place = self.place(operation)
        return Related(role.name.lower(), place.file, place.line, message)

    def allocated(self) -> list[Related]:
        """Return the line where the memory was made, where that is known."""
        operation = self.first(RelatedRole.ALLOC)
        if operation is not None and self.line(operation):
            return [self.related(RelatedRole.ALLOC, operation, self._allocated_message(operation))]
        location = self.allocation_location()
        if location is None:
            return []
        return [Related("alloc", location.file, location.line, self._allocated_message(None))]

    def _allocated_message(self, operation: Operation | None) -> str:
        allocation = self.allocation
        if allocation is None:
            return "allocated here"
        if allocation.assumed:
            return "memory that a caller, or code that is not visible, hands in"
        if allocation.kind is MemoryKind.STREAM_ORDERED and operation is not None and operation.stream:
            return f"allocated here, in the order of {self.stream(operation)}"
        if allocation.kind is MemoryKind.POOL_BLOCK and operation is not None and operation.stream:
            return f"{MADE_HERE[allocation.kind]}, for {self.stream(operation)}"
        if allocation.kind is MemoryKind.DEVICE_SYMBOL:
            met = "met" if self.names.origin == RECORDING else "declared"
            return f"{met} here, a variable of the device"
        if self.is_managed_variable():
            return "met here, a managed variable"
        return MADE_HERE.get(allocation.kind, "allocated here")

    def is_constant(self) -> bool:
        """Tell whether the memory is a variable in constant memory, of which kernels' code tells, and nothing else."""
        allocation = self.allocation
        if allocation is None or allocation.kind is not MemoryKind.DEVICE_SYMBOL:
            return False
        return self.names.site(allocation.site).label in self.names.constants

    def is_managed_variable(self) -> bool:
        """Tell whether the memory is a `__managed__` variable that a recording met: of managed memory only these are
        named where they are made.
        """
        made = self.allocation
        is_managed = made is not None and made.kind is MemoryKind.MANAGED and self.names.origin == RECORDING
        return made is not None and is_managed and bool(self.names.site(made.site).label)

    def used(self, operation: Operation, role: RelatedRole = RelatedRole.USE) -> Related:
        """Return the line of a use."""
        if operation.kind is OperationKind.HOST_ACCESS:
            return self.related(role, operation, "used here, by the host")
        if operation.kind is OperationKind.GRAPH_NODE:
            return self.related(role, operation, "used here, by a node of the graph")
        if operation.kind is OperationKind.GRAPH_LAUNCH:
            return self.related(role, operation, f"launched here, in the order of {self.stream(operation)}")
        if operation.stream == 0:
            return self.related(role, operation, "used here")
        return self.related(role, operation, f"used here, in the order of {self.stream(operation)}")

    def freed(self, operation: Operation, why: str = "", role: RelatedRole = RelatedRole.FREE) -> Related:
        """Return the line of a free, with the reason that makes it wrong."""
        node = operation.kind is OperationKind.GRAPH_NODE
        where = ", by a node of the graph" if node else f", in the order of {self.stream(operation)}"
        where = where if operation.stream else ""
        return self.related(role, operation, f"freed here{where}" + (f": {why}" if why else ""))

    def others(self, *roles: RelatedRole) -> list[Related]:
        """Return lines for the remaining related operations of these roles, as asides in brackets."""
        return [
            self.related(role, operation, f"({self._aside(operation)})")
            for role, operation in self.fact.related
            if role in roles and self.line(operation)
        ]

    def _aside(self, operation: Operation) -> str:
        kind = operation.kind
        if kind is OperationKind.STREAM_WAIT_EVENT:
            return f"{self.stream(operation)} waits here"
        if kind is OperationKind.EVENT_QUERY:
            return "asked here whether it is complete"
        if kind is OperationKind.EVENT_RECORD and not operation.stream:
            return "set here, by the host"
        if kind is OperationKind.EVENT_RECORD:
            return f"recorded on {self.stream(operation)}"
        if kind in (
            OperationKind.STREAM_SYNCHRONIZE,
            OperationKind.EVENT_SYNCHRONIZE,
            OperationKind.CONTEXT_SYNCHRONIZE,
        ):
            return "the host waits here"
        if kind is OperationKind.STREAM_CREATE:
            return "made here"
        return self.does(operation)


class CaseBasis(Basis, frozen=True, kw_only=True):
    """The basis of a finding that comes from a fact of a trace."""

    case: Case


def case_of(finding: Finding) -> Case | None:
    """Return the case that a finding comes from; None for one that no trace says."""
    return finding.basis.case if isinstance(finding.basis, CaseBasis) else None


_LAUNCHED_BY_SYNTAX = frozenset({"cuLaunchKernel", "cuLaunchKernelEx", "cudaLaunchKernel", "cudaLaunchKernelExC"})
"""What `kernel<<<...>>>(...)` ends in, and nobody wrote"""

_KERNELS = (OperationKind.LAUNCH, OperationKind.GRAPH_NODE, OperationKind.GRAPH_NODE_UPDATE)


def byte_count(size: int) -> str:
    """Return a number of bytes in the largest unit that gives a short number: "4 MiB", "1.5 KiB", "100 bytes"."""
    for exponent, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << exponent:
            number = f"{size / (1 << exponent):.1f}".removesuffix(".0")
            return f"{number} {unit}"
    return f"{size} byte" if size == 1 else f"{size} bytes"

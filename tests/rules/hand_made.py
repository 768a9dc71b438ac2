"""Facts made by hand: a small program's names, and operations on its lines."""

from __future__ import annotations

from dataclasses import dataclass, field

from streamsan.order.facts import AllocationFact, Fact, Operation
from streamsan.trace.site import Site
from streamsan.vocabulary import FactVariant, MemoryKind, OperationKind, RelatedRole, StreamKind


@dataclass
class HandMade:
    """Names of a trace, grown line by line."""

    path: str = "pipeline.cu"
    platform: str = "cuda"
    origin: str = "source"
    apis: list[str] = field(default_factory=lambda: [""])
    read_kernels: tuple[int, ...] = ()
    talkers: tuple[int, ...] = ()
    ranks: dict[int, int] = field(default_factory=dict)
    seen_launches: tuple[int, ...] = ()
    constants: tuple[str, ...] = ()
    source_lines: dict[str, dict[int, str]] = field(default_factory=dict)
    of_libraries: tuple[int, ...] = ()
    library_calls: dict[int, Site] = field(default_factory=dict)
    devices: dict[int, int] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=lambda: [Site("", 0)])
    sequence: int = 0

    def site(self, number: int) -> Site:
        return self.sites[number] if 0 <= number < len(self.sites) else self.sites[0]

    def library_of(self, number: int) -> str:
        return "libcufft.so.12" if number in self.of_libraries else ""

    def library_call(self, number: int) -> Site:
        return self.library_calls.get(number, self.sites[0])

    def current_device(self, thread: int, sequence: int) -> int | None:
        return self.devices.get(sequence)

    def at(self, line: int, label: str = "", file: str | None = None, column: int = 5) -> int:
        self.sites.append(Site(self.path if file is None else file, line, column, line, column + 9, "main", "", label))
        return len(self.sites) - 1

    def api(self, name: str) -> int:
        if name not in self.apis:
            self.apis.append(name)
        return self.apis.index(name)

    def stream(self, name: str) -> int:
        return self.at(10 + len(self.sites), name)

    def operation(
        self,
        kind: OperationKind,
        line: int,
        api: str = "",
        *,
        label: str = "",
        stream: int = 0,
        stream_site: int = 0,
        stream_kind: StreamKind | None = None,
        flags: int = 0,
        file: str | None = None,
    ) -> Operation:
        self.sequence += 1
        site = self.at(line, label, file)
        return Operation(
            self.sequence,
            kind,
            site,
            self.api(api),
            thread=0,
            process=0,
            stream=stream or (100 + stream_site if stream_site else 0),
            flags=flags,
            stream_site=stream_site,
            stream_kind=stream_kind or (StreamKind.BLOCKING if stream_site else None),
        )

    def memory(
        self, name: str, line: int, kind: MemoryKind = MemoryKind.STREAM_ORDERED, assumed: bool = False
    ) -> AllocationFact:
        return AllocationFact(0x7000, 4096, 1, kind, assumed, self.at(line, name))


def use_races_free(names: HandMade, **changes: object) -> Fact:
    """The fact of design's example: s2's kernel reads what s1 frees."""
    s1, s2 = names.stream("s1"), names.stream("s2")
    memory = names.memory("d_x", 2)
    alloc = names.operation(OperationKind.ALLOC, 2, "cudaMallocAsync", label="d_x", stream_site=s1)
    wait = names.operation(OperationKind.STREAM_WAIT_EVENT, 3, "cudaStreamWaitEvent", stream_site=s2)
    use = names.operation(OperationKind.LAUNCH, 4, label="scale", stream_site=s2, flags=1)
    free = names.operation(OperationKind.FREE, 6, "cudaFreeAsync", stream_site=s1)
    arguments: dict[str, object] = {
        "code": 102,
        "variant": FactVariant.FREE_ASYNC,
        "operation": free,
        "related": ((RelatedRole.ALLOC, alloc), (RelatedRole.SYNC, wait), (RelatedRole.USE, use)),
        "allocation": memory,
        **changes,
    }
    return Fact(**arguments)  # type: ignore[arg-type]

"""Recordings of launches, with machine code beside them, as files."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from streamsan.analysis.checked import Checked
from streamsan.analysis.traces import analyse_trace
from streamsan.launched_code.resolution import resolve_kernels
from streamsan.trace import Reference, Site, TraceBuilder, family
from streamsan.trace.launch_shapes import ByteRun, LaunchShape, PointerPlace
from streamsan.trace.view import iterate
from streamsan.trace.writer import write
from streamsan.vocabulary import AccessMode, MemoryKind, OperationKind, StreamKind

CUBINS = Path(__file__).parents[1] / "machine_code"
SIZE = 1 << 20


def cubin(architecture: str = "sm_90", name: str = "kernels") -> bytes:
    return (CUBINS / f"{name}.{architecture}.cubin").read_bytes()


def name_of(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()


class Recorded:
    """A recording of one thread; each launch is a line of its own of `program.cu`."""

    def __init__(self, folder: Path, images: Sequence[bytes] = (), **metadata: Any) -> None:
        self.path = folder / "run.sst"
        self.code = folder / "run.code"
        self.builder = TraceBuilder("run", origin="recording", metadata={"code": "run.code", **metadata})
        self.thread = self.builder.thread(0, "main")
        self.names = tuple(map(name_of, images))
        self._line = self._address = 0
        if images:
            self.code.mkdir()
            for name, content in zip(self.names, images, strict=True):
                (self.code / f"{name}.cubin").write_bytes(content)

    def say(self, kind: OperationKind, **fields: Any) -> int:
        self._line += 1
        site = self.builder.site(Site("program.cu", self._line, label=fields.pop("label", "")))
        return self.builder.append(kind, thread=self.thread, site=site, **fields)

    def stream(self, number: int) -> int:
        handle = 0x5000 + number
        self.say(OperationKind.STREAM_CREATE, stream=handle, object=handle, detail=StreamKind.NON_BLOCKING)
        return handle

    def memory(self, label: str = "d_x", kind: MemoryKind = MemoryKind.PLAIN) -> int:
        self._address += 1
        address = 0x7F00_0000_0000 + self._address * 4 * SIZE
        self.say(OperationKind.ALLOC, references=[Reference(address, SIZE)], detail=kind, label=label, api="cudaMalloc")
        return address

    def shape(
        self,
        symbol: str,
        *offsets: int | tuple[int, ...],
        names: tuple[str, ...] | None = None,
        grid: tuple[int, int, int] = (4, 1, 1),
        block: tuple[int, int, int] = (64, 1, 1),
        arguments: bytes = b"",
        not_told: tuple[ByteRun, ...] = (),
    ) -> int:
        """`offsets`: for each reference where it stands."""
        places = [
            PointerPlace(number, offset)
            for number, each in enumerate(offsets)
            for offset in (each if isinstance(each, tuple) else (each,))
        ]
        code = self.names if names is None else names
        return self.builder.launch_shape(LaunchShape(symbol, code, grid, block, 0, tuple(places), arguments, not_told))

    def launch(self, stream: int, shape: int, *addresses: int, mode: AccessMode = AccessMode.OPAQUE) -> int:
        references = [Reference(address, 0, 0, mode) for address in addresses]
        return self.say(OperationKind.LAUNCH, stream=stream, references=references, shape=shape, api="cudaLaunchKernel")

    def write(self) -> str:
        write(self.builder.finish(), self.path)
        return str(self.path)

    def check(self) -> Checked:
        return analyse_trace(self.write())


def codes(checked: Checked) -> list[str]:
    """The rules that found something, and how sure of it they are."""
    return sorted(f"{each.code} {each.confidence.value}" for each in checked.findings if each.code == "SS109")


def references(recorded: Recorded) -> list[tuple[Reference, ...]]:
    """What each launch and node uses, as every reader of the trace sees it."""
    path = recorded.write()
    trace = family.read(path)
    resolve_kernels(trace, path)
    kinds = (OperationKind.LAUNCH, OperationKind.GRAPH_NODE)
    return [view.references for view in iterate(trace) if view.kind in kinds]

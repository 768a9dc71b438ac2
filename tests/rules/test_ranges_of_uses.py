"""SS101 to SS103 say which bytes a use touches, where that is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsan.analysis.traces import check_trace
from streamsan.findings.finding import Finding
from streamsan.trace import Reference, Site, Trace, TraceBuilder
from streamsan.trace.rows import Rows
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind, OperationKind, SlotFlag, StreamKind

S, T = 0x500, 0x600
X, SIZE = 0x7F0000000000, 1 << 16
KERNEL = Reference(X, 1024, 0, AccessMode.WRITE)
TILE = Reference(X, 7 * 1024 + 256, 0, AccessMode.READ, SlotFlag.STRIDED, Rows(256, 1024, 8))
ALL = Reference(X, SIZE, 0, AccessMode.WRITE)
FAR = Reference(X, 0, 0, AccessMode.WRITE)


def program(*order: str, use: Reference, kind: OperationKind, read_from_code: bool = True) -> Trace:
    builder = TraceBuilder("run", origin="recording")
    thread = builder.thread(0, "main")
    line = 0

    def say(kind: OperationKind, label: str = "", **fields: object) -> None:
        nonlocal line
        line += 1
        site = builder.site(Site("program.cu", line, label=label))
        builder.append(kind, thread=thread, site=site, **fields)  # type: ignore[arg-type]

    memory = [Reference(X, SIZE)]
    for stream in (S, T):
        say(OperationKind.STREAM_CREATE, stream=stream, object=stream, detail=StreamKind.NON_BLOCKING)
    for each in order:
        if each == "alloc":
            say(
                OperationKind.ALLOC,
                "d_x",
                detail=MemoryKind.STREAM_ORDERED,
                stream=S,
                references=memory,
                api="cudaMallocAsync",
            )
        elif each == "use":
            api = "cudaLaunchKernel" if kind is OperationKind.LAUNCH else "cudaMemcpy2DAsync"
            label = "scale" if kind is OperationKind.LAUNCH else ""
            say(kind, label, stream=T, references=[use], api=api)
        elif each == "sync":
            say(OperationKind.STREAM_SYNCHRONIZE, stream=S, api="cudaStreamSynchronize")
        else:
            say(OperationKind.FREE, detail=FreeClass.ASYNC, stream=S, references=memory, api="cudaFreeAsync")
    trace = builder.finish()
    if read_from_code:
        trace.read_kernels = range(line + 1)
    return trace


def finding(code: str, *order: str, use: Reference, kind: OperationKind = OperationKind.LAUNCH) -> Finding:
    checked = check_trace(program(*order, use=use, kind=kind), "run")
    (found,) = [each for each in checked.findings if each.code == code]
    return found


def words(found: Finding) -> str:
    return next(each.message for each in found.related if each.message.startswith("used here"))


@pytest.mark.parametrize(
    ("code", "order"),
    [
        ("SS101", ("alloc", "sync", "free", "use")),
        ("SS102", ("alloc", "sync", "use", "free")),
        ("SS103", ("alloc", "use")),
    ],
)
@pytest.mark.parametrize(
    ("use", "kind", "said"),
    [
        (KERNEL, OperationKind.LAUNCH, "it writes bytes 0 to 1,023 of `d_x` (from its machine code)"),
        (ALL, OperationKind.LAUNCH, "it writes all of `d_x` (from its machine code)"),
        (
            TILE,
            OperationKind.COPY,
            "it reads bytes 0 to 255 of rows 0 to 7 of `d_x`, rows of 1,024 bytes (from its arguments)",
        ),
        (FAR, OperationKind.LAUNCH, ""),
        (ALL, OperationKind.COPY, ""),  # the call says so itself
    ],
)
def test_what_a_use_touches(code: str, order: tuple[str, ...], use: Reference, kind: OperationKind, said: str) -> None:
    text = words(finding(code, *order, use=use, kind=kind))
    if said:
        assert f": {said}" in text
    else:
        assert "it " not in text


def test_the_json_says_it_too(tmp_path: Path) -> None:
    found = finding("SS102", "alloc", "sync", "use", "free", use=KERNEL)
    (access,) = found.accesses
    assert access.bytes is not None
    assert (access.bytes.first, access.bytes.last, found.overlap) == (0, 1023, None)

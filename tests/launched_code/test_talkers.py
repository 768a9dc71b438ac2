"""The host beside kernels of a recording (SS108): a note where their machine code may set or poll a flag."""

from __future__ import annotations

from pathlib import Path

import pytest
from launched_traces import SIZE, Recorded, cubin

from streamsan.machine_code.disassembler import disassemblers
from streamsan.trace import Reference
from streamsan.vocabulary import AccessMode, MemoryKind, NodeKind, OperationKind

pytestmark = pytest.mark.skipif(not disassemblers(), reason="no nvdisasm")

VISIBLE = [MemoryKind.MANAGED, MemoryKind.PINNED, MemoryKind.REGISTERED]
WARNING, NOTE = ["warning possible"], ["note possible"]


def said(r: Recorded) -> list[str]:
    found = r.check().findings
    return [f"{each.severity.value} {each.confidence.value}" for each in found if each.code == "SS108"]


def recorded(folder: Path) -> Recorded:
    return Recorded(folder, [cubin(name="talk_kernels")])


def host(r: Recorded, address: int, mode: AccessMode) -> None:
    r.say(OperationKind.HOST_ACCESS, references=[Reference(address, SIZE, 0, mode)])


@pytest.mark.parametrize("kind", VISIBLE)
@pytest.mark.parametrize(
    ("kernel", "access", "found"),
    [
        ("writes", AccessMode.READ, WARNING),
        ("fences_on_device", AccessMode.READ, WARNING),
        ("announces", AccessMode.READ, NOTE),
        ("sets_volatile", AccessMode.READ, NOTE),
        ("polls", AccessMode.WRITE, NOTE),  # a queue of commands
        ("polls", AccessMode.READ, []),
    ],
)
def test_one_access_beside_one_kernel(
    tmp_path: Path, kind: MemoryKind, kernel: str, access: AccessMode, found: list[str]
) -> None:
    r = recorded(tmp_path)
    stream, memory = r.stream(1), r.memory("h_x", kind)
    r.launch(stream, r.shape(kernel, 0), memory)
    host(r, memory, access)
    assert said(r) == found


def test_a_copy_stays_an_error_beside_a_kernel_that_talks(tmp_path: Path) -> None:
    r = recorded(tmp_path)
    stream, flags, memory = r.stream(1), r.memory("h_flags", MemoryKind.PINNED), r.memory("h_x", MemoryKind.PINNED)
    r.launch(stream, r.shape("announces", 0), flags)
    copy = [Reference(memory, SIZE, 0, AccessMode.WRITE)]
    r.say(OperationKind.COPY, stream=stream, references=copy, api="cudaMemcpyAsync")
    host(r, memory, AccessMode.READ)
    assert said(r) == ["error proven"]


def test_of_code_that_is_missing_anything_may_be(tmp_path: Path) -> None:
    r = recorded(tmp_path)
    stream, memory = r.stream(1), r.memory("h_x", MemoryKind.MANAGED)
    r.launch(stream, r.shape("writes", 0, names=()), memory, mode=AccessMode.WRITE)
    host(r, memory, AccessMode.READ)
    assert said(r) == NOTE


@pytest.mark.parametrize(("kernel", "talks"), [("writes", False), ("announces", True)])
def test_a_graph_with_such_a_kernel(tmp_path: Path, kernel: str, talks: bool) -> None:
    r = recorded(tmp_path)
    stream, memory, executable = r.stream(1), r.memory("h_x", MemoryKind.MANAGED), 0x9000
    r.say(OperationKind.GRAPH_INSTANTIATE, object=executable, address=0x8000, size=1)
    fields = {"stream": executable, "object": 1, "detail": NodeKind.KERNEL, "references": [Reference(memory)]}
    r.say(OperationKind.GRAPH_NODE, **fields, shape=r.shape(kernel, 0))
    r.say(OperationKind.GRAPH_LAUNCH, object=executable, stream=stream, api="cudaGraphLaunch")
    host(r, memory, AccessMode.READ)
    (found,) = (each for each in r.check().findings if each.code == "SS108")
    assert ("unless a flag" in found.message) is talks

"""Kernels read variables in constant memory, which others overwrite: plainly recorded, and in exact mode."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from launched_traces import Recorded, codes, cubin

from streamsan.analysis.checked import Checked
from streamsan.machine_code.disassembler import disassemblers
from streamsan.trace import Reference
from streamsan.vocabulary import AccessMode, MemoryKind, NodeKind, OperationKind, SeenAccesses

pytestmark = pytest.mark.skipif(not disassemblers(), reason="no nvdisasm")

READ, WRITE = AccessMode.READ, AccessMode.WRITE
TABLE = 64
"""bytes that thread 0 to 15 read of `taps`"""


class Filters(Recorded):
    """A recording with kernels that read `taps` and `gain`, each of which is allocated on its own."""

    def __init__(self, folder: Path, exact: bool = False) -> None:
        folder.mkdir(exist_ok=True)
        super().__init__(folder, [cubin(name="constant_kernels")], accesses=exact)
        self.exact = exact
        self.taps = self.memory("taps", MemoryKind.DEVICE_SYMBOL)
        self.gain = self.memory("gain", MemoryKind.DEVICE_SYMBOL)
        self.out = self.memory("d_out")
        self.host = self.memory("h", MemoryKind.PINNED)

    def shape_of(self, kernel: str, values: bytes = b"") -> int:
        return self.shape(kernel, 0, grid=(1, 1, 1), block=(16, 1, 1), arguments=bytes(8) + values)

    def kernel(self, stream: int, kernel: str, values: bytes = b"") -> None:
        launch = self.launch(stream, self.shape_of(kernel, values), self.out)
        if self.exact:
            seen = [Reference(self.out, 64, 0, WRITE)]
            self.say(OperationKind.LAUNCH_ACCESSES, object=launch, detail=SeenAccesses.ALL, references=seen)

    def upload(self, stream: int, address: int, size: int) -> None:
        copied = [Reference(address, size, 0, WRITE), Reference(self.host, size, 0, READ)]
        self.say(OperationKind.COPY, stream=stream, references=copied, api="cudaMemcpyToSymbolAsync")


@pytest.mark.parametrize("exact", [False, True], ids=["plain", "exact"])
@pytest.mark.parametrize(
    ("kernel", "values", "begin", "size", "expected"),
    [
        ("all_taps", b"", 0, 256, ["SS109 proven"]),
        ("tap_of_each_thread", b"", 0, TABLE, ["SS109 proven"]),
        ("tap_of_each_thread", b"", TABLE, TABLE, []),  # what none of its threads reads
        ("tap_of_memory", b"", 0, 256, ["SS109 possible"]),
        ("one_tap", struct.pack("<i", 5), 20, 4, ["SS109 proven"]),
        ("one_tap", struct.pack("<i", 5), 24, 4, []),
        ("scales", struct.pack("<i", 8), 0, 256, []),  # another variable
        ("no_constant", struct.pack("<d", 8.0), 0, 256, []),
    ],
)
def test_a_copy_into_taps(
    tmp_path: Path, exact: bool, kernel: str, values: bytes, begin: int, size: int, expected: list[str]
) -> None:
    for ordered in (True, False):
        r = Filters(tmp_path / str(ordered), exact)
        one, other = r.stream(1), r.stream(2)
        r.kernel(one, kernel, values)
        r.upload(one if ordered else other, r.taps + begin, size)
        assert codes(r.check()) == ([] if ordered else expected)


@pytest.mark.parametrize("exact", [False, True], ids=["plain", "exact"])
def test_a_variable_that_all_threads_leave_alone(tmp_path: Path, exact: bool) -> None:
    for count, expected in ((0, []), (8, ["SS109 proven"])):
        r = Filters(tmp_path / str(count), exact)
        one, other = r.stream(1), r.stream(2)
        r.kernel(one, "scales", struct.pack("<i", count))
        r.upload(other, r.gain, 4)
        assert codes(r.check()) == expected


def in_a_graph(folder: Path, exact: bool, ordered: bool) -> Checked:
    r = Filters(folder, exact)
    one, other = r.stream(1), r.stream(2)
    r.say(OperationKind.GRAPH_INSTANTIATE, object=0x70, address=0x99, size=1, api="cudaGraphInstantiate")
    node = {"stream": 0x70, "object": 1, "detail": NodeKind.KERNEL, "label": "all_taps"}
    r.say(OperationKind.GRAPH_NODE, **node, shape=r.shape_of("all_taps"), references=[Reference(r.out)])
    launch = r.say(OperationKind.GRAPH_LAUNCH, object=0x70, stream=one, api="cudaGraphLaunch")
    r.upload(one if ordered else other, r.taps, 256)
    if exact:
        seen = [Reference(r.out, 64, 0, WRITE)]
        r.say(OperationKind.NODE_ACCESSES, object=launch, address=1, detail=SeenAccesses.ALL, references=seen)
    return r.check()


@pytest.mark.parametrize("exact", [False, True], ids=["plain", "exact"])
def test_a_kernel_of_a_graph(tmp_path: Path, exact: bool) -> None:
    assert codes(in_a_graph(tmp_path / "wrong", exact, ordered=False)) == ["SS109 proven"]
    assert codes(in_a_graph(tmp_path / "right", exact, ordered=True)) == []


@pytest.mark.parametrize("exact", [False, True], ids=["plain", "exact"])
def test_what_is_said(tmp_path: Path, exact: bool) -> None:
    r = Filters(tmp_path, exact)
    one, other = r.stream(1), r.stream(2)
    r.kernel(one, "tap_of_each_thread")
    r.upload(other, r.taps, 256)
    (finding,) = (each for each in r.check().findings if each.code == "SS109")
    assert "`taps`" in finding.message
    said = [each.message for each in finding.related]
    assert any("it reads bytes 0 to 63 of `taps` (from its machine code)" in each for each in said)

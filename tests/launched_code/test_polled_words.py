"""Kernels that poll a word which other work writes: what the word may order is a note at most (SS109)."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from launched_traces import SIZE, Recorded, cubin

from streamsan.machine_code.disassembler import disassemblers
from streamsan.trace import Reference
from streamsan.vocabulary import AccessMode, MemoryKind, OperationKind, SeenAccesses, SlotFlag

pytestmark = pytest.mark.skipif(not disassemblers(), reason="no nvdisasm")

POLLERS = ["polls_volatile", "polls_acquire", "polls_assembly", "polls_by_adding_nothing"]
ERROR, NOTE = "error proven", "note possible"


class Signals(Recorded):
    """Two streams, a flag and data."""

    def __init__(self, folder: Path, **metadata: object) -> None:
        super().__init__(folder, [cubin(name="poll_kernels")], **metadata)
        self.one, self.other = self.stream(1), self.stream(2)
        self.flag, self.data = self.memory("d_flag"), self.memory("d_data")

    def kernel(self, stream: int, symbol: str, *words: int) -> int:
        """Launch a kernel of one warp; addresses are its pointers, small words numbers."""
        pointers = [word for word in words if word >= SIZE]
        arguments = b"".join(struct.pack("<Q", word) for word in words)
        offsets = [8 * at for at, word in enumerate(words) if word >= SIZE]
        shape = self.shape(symbol, *offsets, grid=(1, 1, 1), block=(32, 1, 1), arguments=arguments)
        return self.launch(stream, shape, *pointers)

    def copy(self, stream: int, address: int, size: int, mode: AccessMode = AccessMode.WRITE) -> None:
        self.say(
            OperationKind.COPY,
            stream=stream,
            references=[Reference(address, size, 0, mode)],
            api="cudaMemcpyAsync",
            detail=0,
        )

    def said(self) -> list[str]:
        """SS109, in the order of the places."""
        found = [each for each in self.check().findings if each.code == "SS109"]
        return [f"{each.severity.value} {each.confidence.value}" for each in found]


@pytest.mark.parametrize("kernel", POLLERS)
@pytest.mark.parametrize("setter", ["publishes", "publishes_volatile"])
def test_a_flag_and_the_data_behind_it(tmp_path: Path, kernel: str, setter: str) -> None:
    r = Signals(tmp_path)
    r.kernel(r.one, kernel, r.flag, r.data)
    r.kernel(r.other, setter, r.flag, r.data)
    assert set(r.said()) <= {NOTE}
    assert r.said()


@pytest.mark.parametrize("kernel", POLLERS)
def test_what_was_written_before_the_kernel_that_polls_is_behind_the_flag(tmp_path: Path, kernel: str) -> None:
    r = Signals(tmp_path)
    r.kernel(r.one, "fills", r.data)
    r.kernel(r.one, "sets", r.flag)
    r.kernel(r.other, kernel, r.flag, r.data)
    assert r.said() == []


@pytest.mark.parametrize("kernel", ["looks_once", "looks_plainly"])
def test_a_flag_that_is_not_polled_orders_nothing(tmp_path: Path, kernel: str) -> None:
    r = Signals(tmp_path)
    r.kernel(r.one, "fills", r.data)
    r.kernel(r.one, "sets", r.flag)
    r.kernel(r.other, kernel, r.flag, r.data)
    assert ERROR in r.said()


def test_a_kernel_that_only_waits_holds_back_its_stream(tmp_path: Path) -> None:
    r = Signals(tmp_path)
    spare = r.memory("d_spare")
    r.kernel(r.other, "polls_volatile", r.flag, spare)
    r.kernel(r.other, "fills", r.data)  # behind the flag
    r.kernel(r.one, "fills", r.data)
    r.kernel(r.one, "sets", r.flag)
    assert set(r.said()) == {NOTE}


def test_what_comes_after_the_host_saw_it_end_is_behind_no_flag(tmp_path: Path) -> None:
    r = Signals(tmp_path)
    spare = r.memory("d_spare")
    r.kernel(r.other, "polls_volatile", r.flag, spare)
    r.say(OperationKind.STREAM_SYNCHRONIZE, stream=r.other, api="cudaStreamSynchronize")
    r.kernel(r.other, "fills", r.data)
    r.kernel(r.one, "fills", r.data)
    assert r.said() == [ERROR]


@pytest.mark.parametrize("first", ["kernel", "copy"])
def test_a_stop_flag_that_a_copy_sets(tmp_path: Path, first: str) -> None:
    r = Signals(tmp_path)
    if first == "copy":
        r.copy(r.other, r.flag, 4)
    r.kernel(r.one, "stops_when_told", r.flag, r.data, 1000)
    if first == "kernel":
        r.copy(r.other, r.flag, 4)
    assert r.said() == ([NOTE] if first == "kernel" else [])


def test_a_flag_that_no_loop_awaits_is_an_error_beside_a_copy(tmp_path: Path) -> None:
    r = Signals(tmp_path)
    r.kernel(r.one, "looks_once", r.flag, r.data)
    r.copy(r.other, r.flag, 4)
    assert r.said() == [ERROR]


def test_two_that_answer_each_other(tmp_path: Path) -> None:
    r = Signals(tmp_path)
    r.kernel(r.one, "answers", r.flag, r.data)
    r.kernel(r.other, "answers", r.flag + 4, r.data)
    assert set(r.said()) <= {NOTE}


def test_two_that_take_one_lock(tmp_path: Path) -> None:
    r = Signals(tmp_path)
    r.kernel(r.one, "takes_lock", r.flag, r.data)
    r.kernel(r.other, "takes_lock", r.flag, r.data)
    assert set(r.said()) <= {NOTE}


def test_blocks_that_await_each_other_await_no_other_kernel(tmp_path: Path) -> None:
    r = Signals(tmp_path)
    for stream in (r.one, r.other):
        arguments = struct.pack("<QQ", r.flag, r.data)
        shape = r.shape("looks_back", 0, 8, grid=(8, 1, 1), block=(32, 1, 1), arguments=arguments)
        r.launch(stream, shape, r.flag, r.data)
    assert ERROR in r.said()  # one scratch buffer for two scans


def test_a_variable_that_is_polled(tmp_path: Path) -> None:
    r = Signals(tmp_path)
    gate = 0x7E00_0000_0000
    r.say(
        OperationKind.ALLOC,
        references=[Reference(gate, 4)],
        detail=MemoryKind.DEVICE_SYMBOL,
        label="gate",
        api="",
    )
    r.kernel(r.one, "polls_variable", r.data)
    r.kernel(r.other, "fills", r.data)
    r.copy(r.other, gate, 4)
    assert set(r.said()) == {NOTE}


def test_the_note_names_the_kernel_that_polls(tmp_path: Path) -> None:
    r = Signals(tmp_path)
    r.kernel(r.other, "polls_volatile", r.flag, r.memory("d_spare"))
    r.kernel(r.other, "fills", r.data)
    r.kernel(r.one, "fills", r.data)
    (note,) = [each for each in r.check().findings if each.code == "SS109"]
    assert note.message.endswith("(unless a word that a kernel polls orders them)")


@pytest.mark.parametrize(("kernel", "found"), [("polls_volatile", NOTE), ("looks_once", ERROR)])
def test_what_was_seen_on_the_device_is_behind_the_flag_too(tmp_path: Path, kernel: str, found: str) -> None:
    r = Signals(tmp_path, accesses=True)
    r.kernel(r.one, kernel, r.flag, r.data)
    r.say(
        OperationKind.LAUNCH_ACCESSES,
        object=r.builder.operations,
        detail=SeenAccesses.ALL,
        references=[
            Reference(r.flag, 0, 0, AccessMode.READ, SlotFlag.ATOMIC | SlotFlag.TOUCHES),
            Reference(r.data, 128, 0, AccessMode.WRITE),
        ],
    )
    r.kernel(r.other, "fills", r.data)
    assert r.said() == [found]

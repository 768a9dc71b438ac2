"""Kernels that use variables of the device use their memory, where the recording says where it lies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from launched_traces import Recorded, codes, cubin, references

from streamsan.launched_code.resolution import resolve_kernels
from streamsan.machine_code.disassembler import disassemblers
from streamsan.trace import Reference, family
from streamsan.trace.reference_bounds import Bounds
from streamsan.trace.view import iterate
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind, OperationKind, SlotFlag

pytestmark = pytest.mark.skipif(not disassemblers(), reason="no nvdisasm")

SYMBOL = MemoryKind.DEVICE_SYMBOL


def variable(r: Recorded, name: str) -> int:
    return r.memory(name, SYMBOL)


def a_write_and_a_read(r: Recorded, one: int, other: int) -> None:
    variable(r, "stored_pointer")
    r.launch(one, r.shape("keeps_pointer", 0), r.memory())
    r.launch(other, r.shape("uses_kept_pointer"))


def two_reads(r: Recorded, one: int, other: int) -> None:
    variable(r, "stored_pointer")
    for stream in (one, other):
        r.launch(stream, r.shape("uses_kept_pointer"))


def two_updates(r: Recorded, one: int, other: int) -> None:
    variable(r, "counter")
    for stream in (one, other):
        r.launch(stream, r.shape("counts"))


def an_update_and_a_copy(r: Recorded, one: int, other: int) -> None:
    counter, host = variable(r, "counter"), r.memory("h", MemoryKind.PINNED)
    r.launch(one, r.shape("counts"))
    copied = [Reference(host, 4, 0, AccessMode.WRITE), Reference(counter, 4, 0, AccessMode.READ)]
    r.say(OperationKind.COPY, stream=other, references=copied, api="cudaMemcpyFromSymbolAsync")


def a_variable_of_two_modules(r: Recorded, one: int, other: int) -> None:
    variable(r, "stored_pointer")
    a_write_and_a_read(r, one, other)


def another_variable(r: Recorded, one: int, other: int) -> None:
    variable(r, "counter")
    r.launch(one, r.shape("keeps_pointer", 0), r.memory())
    r.launch(other, r.shape("uses_kept_pointer"))


@pytest.mark.parametrize(
    ("launch", "found"),
    [
        (a_write_and_a_read, ["SS109 possible"]),
        (an_update_and_a_copy, ["SS109 possible"]),
        (two_reads, []),
        (two_updates, []),
        (a_variable_of_two_modules, []),
        (another_variable, []),
    ],
)
def test_two_streams(tmp_path: Path, launch: Callable[[Recorded, int, int], None], found: list[str]) -> None:
    for ordered in (True, False):
        folder = tmp_path / str(ordered)
        folder.mkdir()
        r = Recorded(folder, [cubin()])
        one, other = r.stream(1), r.stream(2)
        launch(r, one, one if ordered else other)
        assert codes(r.check()) == ([] if ordered else found)


def used(r: Recorded) -> list[list[Reference]]:
    path = r.write()
    trace = family.read(path)
    resolve_kernels(trace, path)
    for size in (256, 1000):
        assert all(len(chunk) <= size for chunk in trace.chunks(size))
    return [list(view.references) for view in iterate(trace) if view.kind == OperationKind.LAUNCH]


def test_references_are_added_behind_those_of_the_arguments(tmp_path: Path) -> None:
    r = Recorded(tmp_path, [cubin()])
    kept = variable(r, "stored_pointer")
    r.launch(1, r.shape("keeps_pointer", 0), 0x1000)
    r.launch(1, r.shape("keeps_pointer", 0), 0x1000, 0x2000, 0x3000)
    r.launch(1, r.shape("counts"))
    r.launch(1, r.shape("axpy", 0, 8), 0x1000, 0x2000)
    own = Reference(kept, mode=AccessMode.WRITE)
    assert used(r) == [
        [Reference(0x1000), own],
        [Reference(0x1000), Reference(0x2000), Reference(0x3000), own],
        [],
        [Reference(0x1000, mode=AccessMode.READ_WRITE), Reference(0x2000, mode=AccessMode.READ)],
    ]


def test_a_variable_begins_and_ends(tmp_path: Path) -> None:
    r = Recorded(tmp_path, [cubin()])
    shape = r.shape("counts")
    r.launch(1, shape)  # it is not known yet
    first = variable(r, "counter")
    r.launch(1, shape)
    r.say(OperationKind.FREE, references=[Reference(first)], detail=FreeClass.DEVICE)
    r.launch(1, shape)
    again = variable(r, "counter")
    r.launch(1, shape)
    r.say(OperationKind.DEVICE_RESET)
    r.launch(1, shape)
    taken = variable(r, "counter")
    r.launch(1, shape)
    r.say(OperationKind.ALLOC, references=[Reference(taken, 64)], detail=MemoryKind.PLAIN)  # its module is unloaded
    r.launch(1, shape)
    other = r.builder.thread(1, "a thread of another process")
    r.builder.append(OperationKind.LAUNCH, thread=other, shape=shape)

    def counter(address: int) -> list[Reference]:
        return [Reference(address, 0, 0, AccessMode.READ_WRITE, SlotFlag.ATOMIC, bounds=Bounds(0, 4))]

    assert used(r) == [[], counter(first), [], counter(again), [], counter(taken), [], []]


def test_many_launches(tmp_path: Path) -> None:
    r = Recorded(tmp_path, [cubin()])
    counter, shape = variable(r, "counter"), r.shape("counts")
    for _ in range(1500):
        r.launch(1, shape)
    found = used(r)
    assert len(found) == 1500
    assert all(len(each) == 1 and each[0].address == counter for each in found)


def test_a_process_may_have_any_number(tmp_path: Path) -> None:
    r = Recorded(tmp_path, [cubin()])
    r.thread = r.builder.thread((1 << 32) - 1, "main")
    counter = variable(r, "counter")
    r.launch(r.stream(1), r.shape("counts"))
    assert counter in [reference.address for reference in references(r)[0]]

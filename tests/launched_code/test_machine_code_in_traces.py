"""A recording's kernels are judged by what their machine code does, where it lies beside the trace."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from launched_traces import Recorded, codes, cubin, references

from streamsan.findings.access import KnownFrom
from streamsan.launched_code.resolution import resolve_kernels
from streamsan.machine_code.disassembler import disassemblers
from streamsan.trace import Reference, family
from streamsan.trace.view import iterate
from streamsan.vocabulary import AccessMode, FreeClass, NodeKind, OperationKind, SlotFlag

pytestmark = pytest.mark.skipif(not disassemblers(), reason="no nvdisasm")

READ, WRITE, BOTH = AccessMode.READ, AccessMode.WRITE, AccessMode.READ_WRITE
LaunchBoth = Callable[[Recorded, int, int], None]


def two_streams(tmp_path: Path, launch: LaunchBoth, architecture: str = "sm_90") -> list[str]:
    """What is found where two streams do this, without and with a wait of the second one for the first."""
    found = []
    for ordered in (True, False):
        folder = tmp_path / str(ordered)
        folder.mkdir()
        recorded = Recorded(folder, [cubin(architecture)])
        one, other = recorded.stream(1), recorded.stream(2)
        if ordered:
            launch(recorded, one, one)
        else:
            launch(recorded, one, other)
        found.append(codes(recorded.check()))
    assert found[0] == []
    return found[1]


def both_read(r: Recorded, one: int, other: int) -> None:
    x, prints = r.memory(), r.shape("prints", 0)
    r.launch(one, prints, x)
    r.launch(other, prints, x)


def one_writes(r: Recorded, one: int, other: int) -> None:
    x, y = r.memory(), r.memory("d_y")
    r.launch(one, r.shape("axpy", 0, 8), y, x)
    r.launch(other, r.shape("prints", 0), y)


def both_read_the_other_operand(r: Recorded, one: int, other: int) -> None:
    x, y = r.memory(), r.memory("d_y")
    r.launch(one, r.shape("axpy", 0, 8), y, x)
    r.launch(other, r.shape("prints", 0), x)


def only_compares(r: Recorded, one: int, other: int) -> None:
    p, q, same = r.memory(), r.memory("d_q"), r.memory("d_same")
    r.launch(one, r.shape("only_compared", 0, 8, 16), p, q, same)
    r.launch(other, r.shape("through_shared", 0, 8), p, q)


def writes_what_the_other_wrote(r: Recorded, one: int, other: int) -> None:
    p, q, same = r.memory(), r.memory("d_q"), r.memory("d_same")
    r.launch(one, r.shape("only_compared", 0, 8, 16), p, q, same)
    r.launch(other, r.shape("through_shared", 0, 8), same, q)


def reads_a_field(r: Recorded, one: int, other: int) -> None:
    read, written, count = r.memory(), r.memory("d_y"), r.memory("d_count")
    r.launch(one, r.shape("fields", 0, 8, 24), read, written, count)
    r.launch(other, r.shape("prints", 0), read)


def writes_a_field(r: Recorded, one: int, other: int) -> None:
    read, written, count = r.memory(), r.memory("d_y"), r.memory("d_count")
    r.launch(one, r.shape("fields", 0, 8, 24), read, written, count)
    r.launch(other, r.shape("prints", 0), written)


def both_update(r: Recorded, one: int, other: int) -> None:
    bins, data = r.memory("d_bins"), r.memory()
    r.launch(one, r.shape("histogram", 0, 8), bins, data)
    r.launch(other, r.shape("histogram", 0, 8), bins, data)


def one_updates(r: Recorded, one: int, other: int) -> None:
    bins, data = r.memory("d_bins"), r.memory()
    r.launch(one, r.shape("histogram", 0, 8), bins, data)
    r.launch(other, r.shape("prints", 0), bins)


def one_address_twice(r: Recorded, one: int, other: int) -> None:
    """`y` and `x` of `axpy` are the same: one reference with two places."""
    x, prints = r.memory(), r.shape("prints", 0)
    r.launch(one, r.shape("axpy", (0, 8)), x)
    r.launch(other, prints, x)


def a_node_reads(r: Recorded, one: int, other: int) -> None:
    _node(r, one, other, "prints")


def a_node_writes(r: Recorded, one: int, other: int) -> None:
    _node(r, one, other, "axpy")


def _node(r: Recorded, one: int, other: int, kernel: str) -> None:
    x, executable = r.memory(), 0x9000
    r.say(OperationKind.GRAPH_INSTANTIATE, object=executable, address=0x8000, size=1)
    fields = {"stream": executable, "object": 1, "detail": NodeKind.KERNEL, "references": [Reference(x)]}
    r.say(OperationKind.GRAPH_NODE, **fields, shape=r.shape(kernel, 0))
    r.say(OperationKind.GRAPH_LAUNCH, stream=one, object=executable)
    r.launch(other, r.shape("prints", 0), x)


SILENT = [both_read, both_read_the_other_operand, only_compares, reads_a_field, both_update, a_node_reads]
WRONG = [
    one_writes,
    writes_what_the_other_wrote,
    writes_a_field,
    one_updates,
    one_address_twice,
    a_node_writes,
]


@pytest.mark.parametrize("launch", SILENT)
def test_what_cannot_be_in_each_others_way_is_silent(tmp_path: Path, launch: LaunchBoth) -> None:
    assert two_streams(tmp_path, launch) == []


@pytest.mark.parametrize("launch", WRONG)
def test_what_can_be_is_reported(tmp_path: Path, launch: LaunchBoth) -> None:
    assert two_streams(tmp_path, launch) == ["SS109 possible"]


@pytest.mark.parametrize("architecture", ["sm_75", "sm_120"])
def test_it_is_the_same_on_other_devices(tmp_path: Path, architecture: str) -> None:
    assert two_streams(tmp_path, one_writes, architecture) == ["SS109 possible"]


def test_a_pointer_that_a_kernel_only_compares_may_be_stale(tmp_path: Path) -> None:
    found = []
    for number, kernel in enumerate(("only_compared", "axpy")):
        (tmp_path / kernel).mkdir()
        r = Recorded(tmp_path / kernel, [cubin()])
        stream, freed, other = r.stream(1), r.memory(), r.memory("d_y")
        r.say(OperationKind.FREE, references=[Reference(freed)], detail=FreeClass.DEVICE, api="cudaFree")
        offsets = (0, 8, 16) if number == 0 else (0, 8)
        r.launch(stream, r.shape(kernel, *offsets), freed, *[other] * (len(offsets) - 1))
        found.append(sorted(each.code for each in r.check().findings if each.code == "SS101"))
    assert found == [[], ["SS101"]]


def modes(recorded: Recorded) -> list[list[tuple[int, AccessMode, int]]]:
    return [[(each.address, each.mode, each.flags) for each in found] for found in references(recorded)]


def test_many_references_each_have_their_mode(tmp_path: Path) -> None:
    r = Recorded(tmp_path, [cubin()])
    shape = r.shape("switches", 8, 24, 0, 16)
    r.launch(1, shape, 0x1000, 0x2000, 0x3000, 0x4000)
    r.launch(1, r.shape("fields", 24, 8), 0x1000, 0x2000)
    r.launch(1, r.shape("local_array", 0, 8, 16), 0x1000, 0x2000, 0x3000)
    atomic = int(SlotFlag.ATOMIC)
    assert modes(r) == [
        [(0x1000, WRITE, 0), (0x2000, READ, 0), (0x3000, WRITE, 0), (0x4000, BOTH, atomic)],
        [(0x1000, BOTH, atomic), (0x2000, WRITE, 0)],
        [(0x1000, WRITE, 0), (0x2000, WRITE, 0), (0x3000, WRITE, 0)],
    ]


def test_a_leftover_of_the_stack_that_the_kernel_follows_is_a_use(tmp_path: Path) -> None:
    r = Recorded(tmp_path, [cubin()])
    doubtful = Reference(0x2000, flags=SlotFlag.CONDITIONAL)
    r.say(OperationKind.LAUNCH, references=[Reference(0x1000), doubtful, doubtful], shape=r.shape("axpy", 0, 8))
    assert modes(r) == [[(0x1000, BOTH, 0), (0x2000, READ, 0), (0x2000, AccessMode.OPAQUE, int(SlotFlag.CONDITIONAL))]]


def test_where_all_may_be_leftovers_the_empty_place_of_the_launch_does_not_count(tmp_path: Path) -> None:
    """Kernels with large structures: their unused parts may hold any address, also before those that are used."""
    r = Recorded(tmp_path, [cubin()])

    def launch(shape: int, *addresses: int) -> None:
        doubtful = [Reference(address, flags=SlotFlag.CONDITIONAL) for address in addresses]
        r.say(OperationKind.LAUNCH, references=[Reference(0), *doubtful], shape=shape)

    launch(r.shape("axpy", 0, 8), 0x1000, 0x2000)
    launch(r.shape("axpy", 0, 8), 0x1000, 0x2000, 0x3000)
    launch(r.shape("axpy", 16, 0, 8), 0x3000, 0x1000, 0x2000)
    launch(r.shape("axpy", 0), 0x1000)
    launch(r.shape("keeps_pointer", 0, 8), 0x1000, 0x2000)
    used, leftover = [(0x1000, BOTH, 0), (0x2000, READ, 0)], int(SlotFlag.CONDITIONAL)
    assert modes(r) == [
        used,
        [*used, (0x3000, AccessMode.OPAQUE, leftover)],
        used,
        used[:1],
        [(0x1000, AccessMode.OPAQUE, leftover), (0x2000, AccessMode.OPAQUE, leftover)],
    ]


@pytest.mark.parametrize(
    ("kernel", "architecture", "not_chosen", "chosen"),
    [
        ("item_of_block", "sm_90", [], ["error"]),
        ("chosen_set", "sm_90", [], ["error"]),
        ("chosen_set", "sm_75", [], ["error"]),
        # There the code loads the sizes in a way that leaves open which items are reached.
        ("item_of_block", "sm_75", ["note"], ["note"]),
    ],
)
def test_of_an_array_of_pointers_only_those_that_an_index_names_are_used(
    tmp_path: Path, kernel: str, architecture: str, not_chosen: list[str], chosen: list[str]
) -> None:
    """Where nobody can say which, a stale address among them may be a leftover: PyTorch's arrays have room for 110."""
    found = {}
    for name, last in (("not_kept", None), ("not_chosen", 0), ("chosen", 1)):
        (tmp_path / name).mkdir()
        r = Recorded(tmp_path / name, [cubin(architecture, "extent_kernels")])
        stream, freed, first = r.stream(1), r.memory("d_freed"), r.memory()
        r.say(OperationKind.FREE, references=[Reference(freed)], detail=FreeClass.DEVICE, api="cudaFree")
        tail = (256, 256, 256, 256 * (last or 0)) if kernel == "item_of_block" else (256, 0, 0, last or 0)
        arguments = b"" if last is None else struct.pack("<QQQQiiii", 0, 0, 0, 0, *tail)
        shape = r.shape(kernel, 0, 8, 16, 24, grid=(4, 4, 1), arguments=arguments)
        words = [Reference(each, flags=SlotFlag.CONDITIONAL) for each in (first, first + 4096, first + 8192, freed)]
        r.say(OperationKind.LAUNCH, stream=stream, references=[Reference(0), *words], shape=shape, api="cuLaunchKernel")
        found[name] = [each.severity.value for each in r.check().findings if each.code == "SS101"]
    assert found == {"not_kept": ["note"], "not_chosen": not_chosen, "chosen": chosen}


def test_what_is_not_known_stays_as_it_was_recorded(tmp_path: Path) -> None:
    r = Recorded(tmp_path, [cubin()])
    r.launch(1, r.shape("calls_anything", 0, 8), 0x1000, 0x2000, mode=READ)  # not understood
    r.launch(1, r.shape("keeps_pointer", 0), 0x1000, mode=READ)  # the pointer goes to memory: who knows
    r.launch(1, r.shape("axpy", 8), 0x1000, 0x2000)  # where the second one stands is not known
    r.launch(1, r.shape("no_such_kernel", 0), 0x1000, mode=WRITE)
    r.launch(1, r.shape("axpy", 0, names=("0" * 32,)), 0x1000, mode=READ)  # no such image
    r.launch(1, r.shape("axpy", 0, names=()), 0x1000, mode=READ)
    r.launch(1, 0, 0x1000, mode=READ)
    r.launch(1, 77, 0x1000, mode=READ)  # no such shape
    unknown = AccessMode.OPAQUE
    assert [[each[1] for each in found] for found in modes(r)] == [
        [READ, READ],
        [READ],
        [READ, unknown],
        [WRITE],
        *[[READ]] * 4,
    ]


def test_a_kernel_of_several_images_does_what_it_does_in_any_of_them(tmp_path: Path) -> None:
    """An image that has no such kernel is not the one; one that is missing may be."""
    content = cubin()
    swapped = content.replace(b"gathered", b"........").replace(b"switches", b"gathered")
    r = Recorded(tmp_path, [content, swapped.replace(b"........", b"switches"), cubin("sm_75")])
    offsets = (0, 8, 16, 24)
    both, one_missing = r.names[:2], (*r.names[:2], "0" * 32)
    r.launch(1, r.shape("gathered", *offsets, names=r.names[:1]), *(0x1000 * n for n in (1, 2, 3, 4)))
    r.launch(1, r.shape("gathered", *offsets, names=both), *(0x1000 * n for n in (1, 2, 3, 4)))
    r.launch(1, r.shape("gathered", *offsets, names=one_missing), *(0x1000 * n for n in (1, 2, 3, 4)))
    unknown = AccessMode.OPAQUE
    assert [[each[1] for each in found] for found in modes(r)] == [
        [WRITE, READ, READ, READ],
        [WRITE, BOTH, unknown, READ],  # atomic in one of them only
        [unknown] * 4,
    ]


def test_chunks_are_patched_wherever_they_are_cut(tmp_path: Path) -> None:
    r = Recorded(tmp_path, [cubin()])
    shape = r.shape("switches", 0, 8, 16, 24)
    for number in range(400):
        r.launch(1, shape if number % 3 else 0, 0x1000, 0x2000, 0x3000, 0x4000)
    path = r.write()
    trace = family.read(path)
    resolve_kernels(trace, path)
    whole = b"".join(chunk.tobytes() for chunk in trace.chunks())
    assert b"".join(chunk.tobytes() for chunk in trace.chunks(256)) == whole
    assert whole != b"".join(chunk.tobytes() for chunk in family.read(path).chunks())
    assert trace.operations == 400


def test_a_trace_knows_where_machine_code_was_read(tmp_path: Path) -> None:
    r = Recorded(tmp_path, [cubin()])
    for shape in (r.shape("axpy", 0), r.shape("calls_anything", 0), 0, r.shape("prints", 0)):
        r.launch(1, shape, 0x1000)
    path = r.write()
    trace = family.read(path)
    assert 1 not in trace.read_kernels
    resolve_kernels(trace, path)
    found = [view.site in trace.read_kernels for view in iterate(trace)]
    assert found == [True, False, False, True]
    assert 0 not in trace.read_kernels
    assert 99 not in trace.read_kernels


def test_a_finding_says_from_where_it_knows(tmp_path: Path) -> None:
    said = []
    for names in (None, ()):
        (tmp_path / str(names)).mkdir()
        r = Recorded(tmp_path / str(names), [cubin()])
        one, other, x, y = r.stream(1), r.stream(2), r.memory(), r.memory("d_y")
        r.launch(one, r.shape("axpy", 0, 8), y, x)
        r.launch(other, r.shape("prints", 0, names=names), y, mode=READ)
        (finding,) = (each for each in r.check().findings if each.code == "SS109")
        said.append([each.known_from for each in finding.accesses])
        assert "(from its machine code)" in finding.related[1].message
    assert said == [[KnownFrom.MACHINE_CODE] * 2, [KnownFrom.MACHINE_CODE, KnownFrom.SIGNATURE]]

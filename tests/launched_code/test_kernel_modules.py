"""Recordings of OpenCL programs that were made from SPIR-V, and from what nobody reads."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from launched_traces import Recorded, codes, name_of, references

from streamsan.launched_code.kernel_readings import NO_MODULE
from streamsan.vocabulary import AccessMode, SlotFlag

MODULE = Path(__file__).parents[1] / "kernels" / "spirv" / "kernels.O2.spv"
RANGES = MODULE.with_name("ranges.O2.spv")
OFFSET = (64).to_bytes(8, "little") + bytes(16)


def recorded(folder: Path, content: bytes | None = None) -> Recorded:
    content = MODULE.read_bytes() if content is None else content
    r = Recorded(folder)
    r.code.mkdir()
    r.names = (name_of(content) + ".spv",)
    (r.code / r.names[0]).write_bytes(content)
    return r


def test_references_are_used_as_the_module_says(tmp_path: Path) -> None:
    r = recorded(tmp_path)
    unknown = (0, 0, 0)
    r.launch(1, r.shape("sum", 0, 1, grid=unknown), 0x1000, 0x2000)
    r.launch(1, r.shape("sum", 0, 1, grid=unknown, arguments=OFFSET), 0x1000, 0x2000)
    plain, moved = references(r)
    assert [each.mode for each in plain] == [AccessMode.READ, AccessMode.READ_WRITE]
    assert [each.flags & SlotFlag.TOUCHES for each in plain + moved] == [SlotFlag.TOUCHES, SlotFlag.TOUCHES, 0, 0]


def test_what_a_kernel_does_not_touch_is_no_use(tmp_path: Path) -> None:
    r = recorded(tmp_path)
    r.launch(1, r.shape("only_compares", 0, 1), 0x1000, 0x2000)
    (found,) = references(r)
    assert [(each.address, each.mode) for each in found if each.mode] == [(0x2000, AccessMode.WRITE)]


def half(first: int, n: int) -> bytes:
    """An argument buffer: the global offset, and of argument 1 that it has 4 bytes, and its value."""
    return struct.pack("<3Q", first, 0, 0) + struct.pack("<IIQ", 1, 4, n)


def test_halves_on_two_queues_are_no_race(tmp_path: Path) -> None:
    r = recorded(tmp_path, RANGES.read_bytes())
    data = r.memory()
    for number, first in enumerate((0, 32), 1):
        shape = r.shape("guarded", 0, grid=(32, 1, 1), block=(0, 0, 0), arguments=half(first, 64))
        r.launch(r.stream(number), shape, data)
    assert [(each.address - data, each.size) for found in references(r) for each in found] == [
        *[(0, 128)] * 2,
        *[(128, 128)] * 2,
    ]
    assert codes(r.check()) == []


def test_a_halo_is_one(tmp_path: Path) -> None:
    r = recorded(tmp_path, RANGES.read_bytes())
    data, other = r.memory(), r.memory("d_y")
    lower = r.shape("guarded", 0, grid=(32, 1, 1), block=(0, 0, 0), arguments=half(0, 64))
    r.launch(r.stream(1), lower, data)
    upper = r.shape("clamped", 0, 1, grid=(32, 1, 1), block=(0, 0, 0), arguments=struct.pack("<3Q", 32, 0, 0))
    r.launch(r.stream(2), upper, data, other)
    assert codes(r.check()) == ["SS109 proven"]


def remark(r: Recorded) -> str:
    r.launch(1, r.shape("sum", 0, 1), r.memory(), r.memory())
    return r.check().remarks[-1]


def test_the_report_says_what_was_read(tmp_path: Path) -> None:
    assert remark(recorded(tmp_path)) == "what kernels read and write was read from the programs' SPIR-V of 1 kernel"


def test_a_module_that_is_none(tmp_path: Path) -> None:
    assert remark(recorded(tmp_path, b"\3\2\x23\7" * 9)).endswith(NO_MODULE)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("binary", "their programs were made from binaries"), ("built-in", "they are built into the runtime")],
)
def test_what_is_not_in_view_is_said(name: str, reason: str, tmp_path: Path) -> None:
    r = Recorded(tmp_path)
    r.names = (name,)
    assert remark(r).endswith(f"for 0 of 1 launches, not for the others: {reason}")

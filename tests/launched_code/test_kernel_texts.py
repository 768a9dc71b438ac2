"""Recordings of OpenCL programs: what kernels do is read from the text that lies beside the trace."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from launched_traces import Recorded, codes, name_of, references

from streamsan.launched_code import kernel_texts
from streamsan.launched_code.kernel_readings import NOT_ALL_OF_THE_TEXT
from streamsan.launched_code.kernel_texts import read_text_kernels
from streamsan.trace.launch_shapes import ByteRun
from streamsan.vocabulary import AccessMode, SlotFlag

TEXT = b"""\
__kernel void step(__global const float *from, __global float *to, int n) {
    int i = get_global_id(0);
    if (i < n) to[i] = from[i] * FACTOR;
}
__kernel void count(__global const int *of, __global int *bins) { atomic_inc(&bins[of[get_global_id(0)]]); }
__kernel void idle(__global float *never, __global float *out) { out[get_global_id(0)] = 0; }
"""
READ, WRITE, OPAQUE = AccessMode.READ, AccessMode.WRITE, AccessMode.OPAQUE
TOUCHES = int(SlotFlag.TOUCHES)
OFFSET = (64).to_bytes(8, "little") + bytes(16)


def recorded(folder: Path, content: bytes = b"-DFACTOR=2\0" + TEXT) -> Recorded:
    r = Recorded(folder)
    r.code.mkdir()
    r.names = (name_of(content) + ".cl",)
    (r.code / r.names[0]).write_bytes(content)
    return r


def uses(content: bytes, kernel: str = "step") -> list[tuple[AccessMode, int]]:
    accesses = read_text_kernels(content, [kernel])[kernel].accesses
    return [(use.mode, use.flags) for _, use in sorted(accesses.words.items())]


def test_references_are_used_as_the_text_says(tmp_path: Path) -> None:
    r = recorded(tmp_path)
    r.launch(1, r.shape("step", 0, 1), 0x1000, 0x2000)
    r.launch(1, r.shape("count", 0, 1), 0x1000, 0x2000)
    step, count = references(r)
    assert [(each.mode, each.flags) for each in step] == [(READ, TOUCHES), (WRITE, TOUCHES)]
    assert (count[1].mode, count[1].flags & SlotFlag.ATOMIC) == (AccessMode.READ_WRITE, SlotFlag.ATOMIC)


def test_places_are_numbers_of_arguments(tmp_path: Path) -> None:
    r = recorded(tmp_path)
    r.launch(1, r.shape("step", 1), 0x2000)
    assert [each.mode for each in references(r)[0]] == [WRITE]


def test_what_a_kernel_does_not_name_stays_as_it_was_recorded(tmp_path: Path) -> None:
    r = recorded(tmp_path)
    r.launch(1, r.shape("idle", 0, 1), 0x1000, 0x2000)
    (idle,) = references(r)
    assert [(each.address, each.mode) for each in idle] == [(0x1000, OPAQUE), (0x2000, WRITE)]


def test_two_kernels_that_write_the_first_element_are_a_race(tmp_path: Path) -> None:
    r = recorded(tmp_path)
    data, more = r.memory(), r.memory("d_y")
    for stream in (r.stream(1), r.stream(2)):
        r.launch(stream, r.shape("step", 0, 1), more, data)
    assert codes(r.check()) == ["SS109 proven"]


@pytest.mark.parametrize("not_told", [(), (ByteRun(0, 24),)])
def test_with_an_offset_nobody_knows_that_the_first_element_is_touched(
    not_told: tuple[ByteRun, ...], tmp_path: Path
) -> None:
    r = recorded(tmp_path)
    data, more = r.memory(), r.memory("d_y")
    offset = bytes(24) if not_told else OFFSET
    r.launch(r.stream(1), r.shape("step", 0, 1), more, data)
    r.launch(r.stream(2), r.shape("step", 0, 1, arguments=offset, not_told=not_told), more, data)
    assert [each for each in codes(r.check()) if "proven" in each] == []


def numbers(*given: tuple[int, int, int]) -> bytes:
    """An argument buffer: of each argument its index, how many bytes it has, and its value."""
    return bytes(24) + b"".join(struct.pack("<IIQ", *each) for each in given)


@pytest.mark.parametrize(
    ("items", "n", "size"),
    [(100, 64, 256), (32, 64, 128), (64, 0xFFFFFFFF, 0)],  # the last is -1: nothing is written
)
def test_how_far_a_launch_reaches_follows_from_its_numbers(items: int, n: int, size: int, tmp_path: Path) -> None:
    r = recorded(tmp_path)
    given = {"grid": (items, 1, 1), "block": (0, 0, 0), "arguments": numbers((2, 4, n))}
    r.launch(1, r.shape("step", 0, 1, **given), 0x1000, 0x2000)  # type: ignore[arg-type]
    (step,) = references(r)
    assert [each.size for each in step] == [size, size]


@pytest.mark.parametrize(
    "given",
    [
        {"grid": (0, 0, 0), "arguments": numbers((2, 4, 64))},  # how many work-items is not known
        {"grid": (64, 1, 1), "arguments": numbers((2, 8, 64))},  # of another size than the parameter's
        {"grid": (64, 1, 1), "arguments": numbers((1, 0, 0), (0, 0, 0), (2, 4, 64))},  # parts of a buffer
        {"grid": (64, 1, 1), "arguments": numbers((2, 4, 64)), "not_told": (ByteRun(0, 24),)},
        {"grid": (64, 1, 1), "arguments": numbers((2, 4, 64), (1 << 31, 4, 7))[:-20]},
    ],
)
def test_what_is_not_known_of_a_launch_is_not_guessed(given: dict[str, Any], tmp_path: Path) -> None:
    r = recorded(tmp_path)
    r.launch(1, r.shape("step", 0, 1, **given), 0x1000, 0x2000)
    (step,) = references(r)
    assert [each.size for each in step] == [0, 0]


@pytest.mark.parametrize(
    "text",
    [
        b'#include "more.h"\n' + TEXT,
        b'#inc\\\nlude "more.h"\n' + TEXT,
        b'#/**/include "more.h"\n' + TEXT,
        b'# __global include "more.h"\n' + TEXT,
        b"#ifdef cl_khr_fp64\n#define float double\n#endif\n" + TEXT,
        b"#if __OPENCL_VERSION__ < 200\nint old;\n#endif\n" + TEXT,
    ],
)
def test_a_text_that_does_not_say_all_is_not_read(text: bytes) -> None:
    with pytest.raises(ValueError, match="includes files, or asks which compiler it is"):
        read_text_kernels(b"\0" + text, ["step"])


def test_a_condition_that_changes_nothing_is_passed_over() -> None:
    pragma = b"#ifdef cl_khr_fp64\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#endif\n"
    assert uses(b"\0" + pragma + TEXT) == [(READ, TOUCHES), (WRITE, TOUCHES), (OPAQUE, 0)]


def test_options_of_the_build_decide_conditions() -> None:
    text = (
        b"__kernel void step(__global int *p, __global int *q) {\n"
        b"#ifdef BACK\np[0] = q[0];\n#else\nq[0] = p[0];\n#endif\n}\n"
    )
    assert [mode for mode, _ in uses(b"-D BACK -cl-std=CL1.2\0" + text)] == [WRITE, READ]
    assert [mode for mode, _ in uses(b"-DBACK=1 -UBACK\0" + text)] == [READ, WRITE]


def test_a_macro_may_use_a_parameter_without_being_given_it() -> None:
    text = b"#define PUT(x) p[0] = (x)\n__kernel void step(__global int *p, __global int *q) { PUT(q[0] + p[1]); }\n"
    assert [mode for mode, _ in uses(b"\0" + text)] == [OPAQUE, READ]


def test_what_is_no_text_is_said_and_the_others_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    r = recorded(tmp_path, b"no zero")
    r.launch(1, r.shape("step", 0, 1), 0x1000, 0x2000)
    (said,) = r.check().remarks[1:]
    assert said.endswith(f"for 0 of 1 launches, not for the others: {NOT_ALL_OF_THE_TEXT}")
    monkeypatch.setattr(kernel_texts, "LARGEST_TEXT", 10)
    with pytest.raises(ValueError, match="not a text that is read"):
        read_text_kernels(b"\0" + TEXT, ["step"])


def test_kernels_that_the_text_has_not_are_left_out() -> None:
    assert read_text_kernels(b"\0" + TEXT, ["none"]) == {}

"""A recording says in one line of how many launches it is known what the kernels touch, and why not of the others."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from launched_traces import Recorded, cubin

from streamsan.launched_code import kernel_readings, launch_ranges
from streamsan.machine_code.disassembler import disassemblers
from streamsan.trace import Reference
from streamsan.vocabulary import NodeKind, OperationKind

pytestmark = pytest.mark.skipif(not disassemblers(), reason="no nvdisasm")

ALL = "what kernels read and write was read from the machine code of "
SOME = "what kernels read and write was read from machine code for "


def line(tmp_path: Path, launches: dict[str, int], **metadata: Any) -> str:
    r = Recorded(tmp_path, [cubin()], **metadata)
    for kernel, count in launches.items():
        names = () if kernel == "not_kept" else None
        for _ in range(count):
            r.launch(1, 0 if kernel == "unnamed" else r.shape(kernel, 0, names=names), 0x1000)
    (found,) = r.check().remarks[1:]
    return found


def test_all_was_read(tmp_path: Path) -> None:
    assert line(tmp_path, {"axpy": 3, "prints": 1}) == ALL + "2 kernels"


def test_what_was_not_read_has_its_reason_the_most_frequent_first(tmp_path: Path) -> None:
    said = line(tmp_path, {"axpy": 1200, "calls_anything": 1, "not_kept": 2, "unnamed": 4}, code_left_out="disk\nfull")
    assert said == SOME + (
        "1,200 of 1,207 launches, not for the others: the trace does not name their kernels, "
        "their code was not kept (disk full), their code does something that is not known"
    )


def test_kernels_that_follow_what_they_find_are_named(tmp_path: Path) -> None:
    said = line(tmp_path, {"pointers_in_memory": 3, "axpy": 1})
    assert (
        said == ALL + "2 kernels; 1 kernel also follows pointers found in memory, and what is behind these is not seen"
    )


def test_a_recording_without_launches_says_nothing(tmp_path: Path) -> None:
    r = Recorded(tmp_path, [cubin()])
    r.shape("axpy", 0)
    r.memory()
    assert r.check().remarks == ()


def test_no_folder(tmp_path: Path) -> None:
    r = Recorded(tmp_path)
    r.launch(1, r.shape("axpy", 0, names=("0" * 32,)), 0x1000)
    assert r.check().remarks[1] == SOME + "0 of 1 launches, not for the others: their code is not beside the trace"


def test_reading_ends_after_so_many_images_known_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_readings, "MOST_IMAGES", 0)
    said = line(tmp_path, {"axpy": 1})
    assert said == SOME + "0 of 1 launches, not for the others: there are more than 1,000 images of code"


@pytest.mark.parametrize(
    ("limit", "left_out"),
    [("MOST_UNITS", "6 launches of 2 kernels"), ("MOST_IN_VAIN", "6 launches of 2 kernels"), ("", "")],
)
def test_launches_that_were_left_out_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, left_out: str
) -> None:
    if limit:
        monkeypatch.setattr(launch_ranges, limit, 0)
    r = Recorded(tmp_path, [cubin()])
    for kernel, count in (("axpy", 5), ("through_shared", 1)):
        shape = r.shape(kernel, 0, 8, arguments=struct.pack("<QQfi", 0, 0, 1.0, 64))
        for _ in range(count):
            r.launch(1, shape, 0x1000, 0x2000)
    said = r.check().remarks[1]
    assert said == ALL + "2 kernels" + (f"; how far {left_out} reach takes too long to compute" if limit else "")


def test_nodes_of_graphs_count(tmp_path: Path) -> None:
    r = Recorded(tmp_path, [cubin()])
    for kernel in ("axpy", "calls_anything"):
        node = {"stream": 0x9000, "object": 1, "detail": NodeKind.KERNEL, "references": [Reference(0x1000)]}
        r.say(OperationKind.GRAPH_NODE, **node, shape=r.shape(kernel, 0))
    (said,) = r.check().remarks
    assert said == SOME + "1 of 2 launches, not for the others: their code does something that is not known"


def test_progress_is_told_for_each_image(tmp_path: Path) -> None:
    from streamsan.analysis.traces import analyse_trace

    r = Recorded(tmp_path, [cubin(), cubin("sm_75")])
    r.launch(1, r.shape("axpy", 0), 0x1000)
    told: list[tuple[int, int]] = []
    analyse_trace(r.write(), lambda done, total: told.append((done, total)))
    assert told[:2] == [(1, 2), (2, 2)]

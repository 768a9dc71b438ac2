"""Copies and fills whose rows leave gaps say so: their bounding ranges are not all theirs."""

from __future__ import annotations

import pytest
from simulated import HOST, Simulated

from streamsan.model.values import Pointer
from streamsan.trace.rows import Rows
from streamsan.vocabulary import OperationKind, SlotFlag


def strided(program: Simulated, kind: OperationKind) -> tuple[bool, bool]:
    """Whether the first and the second reference of the last operation of a kind have gaps."""
    seen = next(each for each in reversed(program.operations()) if each.kind is kind)
    further = seen.further[0].flags if seen.further else 0
    return bool(seen.flags & SlotFlag.STRIDED), bool(further & SlotFlag.STRIDED)


def rows(program: Simulated, kind: OperationKind) -> dict[int, Rows]:
    """The rows of the last operation of a kind, by the number of its reference."""
    return dict(next(each for each in reversed(program.operations()) if each.kind is kind).rows)


def volume(memory: Pointer, width: int, height: int, depth: int) -> dict[str, object]:
    return {
        "srcPtr.ptr": HOST, "srcPtr.pitch": 16, "srcPtr.xsize": 16, "srcPtr.ysize": 4,
        "dstPtr.ptr": memory, "dstPtr.pitch": 16, "dstPtr.xsize": 16, "dstPtr.ysize": 8,
        "extent.width": width, "extent.height": height, "extent.depth": depth, "kind": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "to"),
    [
        (("cudaMemset2DAsync", 64, 0, 32, 4, 0), True),
        (("cudaMemset2DAsync", 64, 0, 64, 4, 0), False),
        (("cudaMemset2DAsync", 64, 0, 32, 1, 0), False),
        (("cuMemsetD2D32", 64, 0, 8, 4), True),
        (("cuMemsetD2D32", 64, 0, 16, 4), False),
        (("cudaMemsetAsync", 0, 256, 0), False),
    ],
)
def test_fills(arguments: tuple[str, int, int, int, int, int], to: bool) -> None:
    program = Simulated()
    memory = program.memory(4096)
    api, *rest = arguments
    assert program.status(api, memory, *rest) == 0
    assert strided(program, OperationKind.MEMSET) == (to, False)


def test_copies_have_gaps_on_each_side_of_their_own() -> None:
    program = Simulated()
    memory = program.memory(4096)
    assert program.status("cudaMemcpy2DAsync", memory, 64, HOST, 32, 32, 4, 1, 0) == 0
    assert strided(program, OperationKind.COPY) == (True, False)
    assert program.status("cudaMemcpy2DAsync", memory, 32, HOST, 64, 32, 4, 1, 0) == 0
    assert strided(program, OperationKind.COPY) == (False, True)
    assert program.status("cudaMemcpyAsync", memory, HOST, 128, 1, 0) == 0
    assert strided(program, OperationKind.COPY) == (False, False)


@pytest.mark.parametrize(
    ("extent", "expected"),
    [
        ((16, 4, 1), (False, False)),
        ((8, 4, 1), (True, True)),
        ((16, 4, 2), (True, False)),
        ((16, 8, 2), (False, False)),
    ],
)
def test_slices_leave_gaps_too(extent: tuple[int, int, int], expected: tuple[bool, bool]) -> None:
    program = Simulated()
    memory = program.memory(4096)
    fields = volume(memory, *extent)
    assert program.status("cudaMemcpy3DAsync", 1, 0, structures={"p": fields}) == 0
    assert strided(program, OperationKind.COPY) == expected


def test_the_trace_has_the_rows_of_each_side() -> None:
    program = Simulated()
    memory = program.memory(4096)
    assert program.status("cudaMemcpy2DAsync", memory, 64, HOST, 48, 32, 4, 1, 0) == 0
    assert rows(program, OperationKind.COPY) == {0: Rows(32, 64, 4), 1: Rows(32, 48, 4)}
    assert program.status("cudaMemcpy2DAsync", memory, 32, HOST, 64, 32, 4, 1, 0) == 0
    assert rows(program, OperationKind.COPY) == {1: Rows(32, 64, 4, 0)}
    assert program.status("cuMemsetD2D32", memory, 64, 0, 8, 4) == 0
    assert rows(program, OperationKind.MEMSET) == {0: Rows(32, 64, 4)}
    assert program.status("cudaMemcpyAsync", memory, HOST, 128, 1, 0) == 0
    assert rows(program, OperationKind.COPY) == {}
    program.status("cudaMemcpy3DAsync", 1, 0, structures={"p": volume(memory, 8, 4, 2)})
    assert rows(program, OperationKind.COPY) == {0: Rows(8, 16, 4, 128, 2), 1: Rows(8, 16, 4, 64, 2)}

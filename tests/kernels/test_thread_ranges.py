"""Which elements a launch of a kernel in CUDA C++ touches, beside a count of what each thread does."""

from __future__ import annotations

import operator
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamsan.cuda_syntax.tree import Function
from streamsan.cuda_syntax.unit import read_text
from streamsan.kernels.behaviour import KernelBehaviours
from streamsan.kernels.thread_ranges import Reach
from streamsan.kernels.work_item_expressions import Declared

SIZE = 4
BEGIN = "int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y; "
HEAD = """struct Grid { int nx, ny, halo; };
struct Plane { int* cells; Grid grid; };
__host__ __device__ inline int wrap(int v, int n) { return v < 0 ? v + n : (v >= n ? v - n : v); }
__device__ inline int at(const Grid& g, int x, int y) { return y * g.nx + x; }
"""


def reached(body: str, blocks: tuple[int, int], threads: int, numbers: dict[str, int]) -> dict[str, Reach]:
    """Return what a launch touches behind `in` and `out`, both of ints."""
    unit = read_text(f"{HEAD}__global__ void k(const int* in, int* out, Grid g) {{ {BEGIN}{body} }}")
    assert not unit.problems
    kernel = next(each for each in unit.declarations if isinstance(each, Function) and each.kernel)
    ranges = KernelBehaviours(unit).of(kernel, None).ranges
    assert ranges.is_followed
    addresses = {"in": True, "out": True}
    declared = Declared({"in": SIZE, "out": SIZE}, lambda _: None, lambda _: None)
    return dict(ranges.touched_by((*blocks, 1), (threads, 1, 1), numbers, addresses, declared))


def elements(reach: Reach | None) -> set[int] | None:
    """Return the elements that are touched; None: nobody knows which."""
    if reach is None:
        return None
    rows = reach.rows
    pitch = rows.pitch if rows is not None and rows.pitch else reach.end - reach.begin
    width = rows.width if rows is not None else pitch
    begins = range(reach.begin, reach.end, pitch or 1)
    return {byte // SIZE for begin in begins for byte in range(begin, min(begin + width, reach.end))}


def wrapped(value: int, count: int) -> int:
    return value + count if value < 0 else value - count if value >= count else value


Cell = Callable[[int, int, int, int, int], list[int]]
"""x, y, nx, ny, halo -> elements that this thread touches"""
CASES: dict[str, tuple[str, Cell, Cell]] = {
    "a ring": (
        "if (x < g.nx) out[x + y * g.nx] = in[wrap(x + 1, g.nx) + y * g.nx];",
        lambda x, y, nx, ny, halo: [wrapped(x + 1, nx) + y * nx],
        lambda x, y, nx, ny, halo: [x + y * nx],
    ),
    "a torus": (
        "if (x < g.nx) out[at(g, x, y)] = in[at(g, wrap(x - 1, g.nx), y)] + in[at(g, x, wrap(y + 1, g.ny))];",
        lambda x, y, nx, ny, halo: [wrapped(x - 1, nx) + y * nx, x + wrapped(y + 1, ny) * nx],
        lambda x, y, nx, ny, halo: [x + y * nx],
    ),
    "the first and the last lines": (
        "int r = y < g.halo ? y : g.ny - 2 * g.halo + y; if (x < g.nx && y < 2 * g.halo) out[at(g, x, r)] = 0;",
        lambda x, y, nx, ny, halo: [],
        lambda x, y, nx, ny, halo: [x + (y if y < halo else ny - 2 * halo + y) * nx] if y < 2 * halo else [],
    ),
    "a number that is moved": (
        "if (x >= g.nx) return; int r = y + 1; if (r >= g.ny) r -= g.ny; out[at(g, x, r)] = in[at(g, x, y)];",
        lambda x, y, nx, ny, halo: [x + y * nx],
        lambda x, y, nx, ny, halo: [x + (y + 1) % ny * nx],
    ),
    "all but the lines at the edges": (
        "if (x >= g.nx || y < g.halo || y >= g.ny - g.halo) return;"
        "out[at(g, x, y)] = in[at(g, x, y - 1)] + in[at(g, x, y + 1)];",
        lambda x, y, nx, ny, halo: [x + (y - 1) * nx, x + (y + 1) * nx] if halo <= y < ny - halo else [],
        lambda x, y, nx, ny, halo: [x + y * nx] if halo <= y < ny - halo else [],
    ),
}


@pytest.mark.parametrize(("nx", "ny", "halo"), [(8, 6, 1), (13, 9, 2), (32, 4, 1)])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_each_thread_s_elements_are_those_of_the_launch(
    case: tuple[str, Cell, Cell], nx: int, ny: int, halo: int
) -> None:
    body, reads, writes = case
    found = reached(body, (-(-nx // 8), ny), 8, {"g.nx": nx, "g.ny": ny, "g.halo": halo})
    items = [(x, y) for x in range(nx) for y in range(ny)]
    for name, cell in (("in", reads), ("out", writes)):
        assert elements(found.get(name)) == {one for x, y in items for one in cell(x, y, nx, ny, halo)}, name


Made = tuple[str, Callable[[int, int], int]]
"""an expression as C++, and what it is for an x and a y"""
COMPARED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}


def leaf() -> st.SearchStrategy[Made]:
    number = st.integers(0, 9).map(lambda value: (str(value), lambda x, y: value))
    return st.one_of(st.just(("x", lambda x, y: x)), st.just(("y", lambda x, y: y)), number)


def grown(inner: st.SearchStrategy[Made]) -> st.SearchStrategy[Made]:
    def joined(one: Made, other: Made, sign: str) -> Made:
        factor = 1 if sign == "+" else -1
        return f"({one[0]} {sign} {other[0]})", lambda x, y: one[1](x, y) + factor * other[1](x, y)

    def times(one: Made, number: int) -> Made:
        return f"({one[0]} * {number})", lambda x, y: one[1](x, y) * number

    def chosen(one: Made, sign: str, number: int, then: Made, otherwise: Made) -> Made:
        text = f"({one[0]} {sign} {number} ? {then[0]} : {otherwise[0]})"
        return text, lambda x, y: (then if COMPARED[sign](one[1](x, y), number) else otherwise)[1](x, y)

    return st.one_of(
        st.builds(joined, inner, inner, st.sampled_from("+-")),
        st.builds(times, inner, st.integers(1, 9)),
        st.builds(chosen, inner, st.sampled_from(list(COMPARED)), st.integers(0, 9), inner, inner),
    )


@settings(max_examples=150, deadline=None)
@given(
    made=st.recursive(leaf(), grown, max_leaves=8),
    blocks=st.integers(1, 3),
    lines=st.integers(1, 5),
    threads=st.integers(1, 4),
    last=st.integers(1, 12),
)
def test_what_is_known_is_what_the_threads_touch(made: Made, blocks: int, lines: int, threads: int, last: int) -> None:
    text, index = made
    found = reached(f"if (x < {last}) out[{text}] = 1;", (blocks, lines), threads, {})
    items = [(x, y) for x in range(min(last, blocks * threads)) for y in range(lines)]
    touched = {index(x, y) for x, y in items}
    known = elements(found.get("out"))
    # What lies before the pointer cannot be meant: such a program is none.
    assert known is None or min(touched) < 0 or known == touched


def test_numbers_of_a_structure_in_a_structure_are_known() -> None:
    body = "if (x < p.grid.nx && y < p.grid.ny - p.grid.halo) p.cells[y * p.grid.nx + x] = 1;"
    unit = read_text(f"{HEAD}__global__ void k(Plane p) {{ {BEGIN}{body} }}")
    kernel = next(each for each in unit.declarations if isinstance(each, Function) and each.kernel)
    numbers = {"p.grid.nx": 8, "p.grid.ny": 6, "p.grid.halo": 2}
    declared = Declared({"p.cells": SIZE}, lambda _: None, lambda _: None)
    ranges = KernelBehaviours(unit).of(kernel, None).ranges
    found = ranges.touched_by((1, 6, 1), (8, 1, 1), numbers, {"p.cells": True}, declared)
    assert elements(found["p.cells"]) == set(range(8 * 4))


def test_a_structure_that_holds_itself_ends_nothing() -> None:
    unit = read_text("struct A { A a; int n; }; __global__ void k(int* out, A a) { out[a.n] = a.a.n; }")
    kernel = next(each for each in unit.declarations if isinstance(each, Function) and each.kernel)
    assert KernelBehaviours(unit).of(kernel, None).uses.keys() == {"out"}

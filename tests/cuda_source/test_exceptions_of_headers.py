"""A header throws, as far as is known: one path goes on behind the call, and what only it finds is a note."""

from __future__ import annotations

import pytest
from reading import kinds, operations, reading_of

from streamsan import check

LIBRARY = """#pragma once
#include <stdexcept>
#define ENSURE(holds) { if ((holds) != true) { throw std::runtime_error(#holds); } }
struct Shape { int rank = 0; };
inline int measure(const Shape& shape) { int dimensions = 2; ENSURE(dimensions == shape.rank); return shape.rank; }
inline void launch(const Shape& shape) { if (shape.rank < 2) throw std::runtime_error("rank"); }
"""
WORK = "float* d; cudaMalloc(&d, 4); cudaFree(d);"


def written(folder, text):
    (folder / "library.h").write_text(LIBRARY)
    return f'#include "library.h"\n{text}\n'


@pytest.mark.parametrize(
    "calls", ["measure(shape);", "launch(shape); launch(shape); launch(shape);", "[&] { launch(shape); }();"]
)
def test_calls_behind_what_a_header_throws_are_reached(calls, tmp_path):
    text = written(tmp_path, f"int main() {{ Shape shape; {calls} {WORK} }}")
    reading = reading_of(text, tmp_path)
    assert not reading.missed
    assert {world.contrary for world in reading.worlds if "FREE" in kinds(operations(world))} == {True}


@pytest.mark.parametrize(("rest", "severities"), [("cudaFree(d);", {"note"}), ("", set())], ids=["wrong", "right"])
def test_what_is_found_only_there_is_a_note(rest, severities, tmp_path):
    text = written(tmp_path, f"int main() {{ Shape shape; launch(shape); {WORK} {rest} }}")
    source = tmp_path / "user.cu"
    source.write_text(f"#include <cuda_runtime.h>\n{text}")
    found = check([str(source)]).findings
    assert {each.severity.value for each in found if each.code == "SS201"} == severities


STATUS = """#pragma once
enum class Status { kSuccess, kMisaligned };
struct Product { Status can_run(int columns) { return columns % 8 ? Status::kMisaligned : Status::kSuccess; } };
"""


@pytest.mark.parametrize(("rest", "severities"), [("cudaFree(d);", {"note"}), ("", set())], ids=["wrong", "right"])
def test_a_status_that_seems_to_tell_a_failure_ends_not_all(rest, severities, tmp_path):
    (tmp_path / "product.h").write_text(STATUS)
    source = tmp_path / "user.cu"
    source.write_text(
        '#include <cuda_runtime.h>\n#include <cstdlib>\n#include "product.h"\n'
        "int main() { Product product; int columns = 4; Status status = product.can_run(columns);\n"
        f"if (status != Status::kSuccess) {{ exit(1); }} {WORK} {rest} }}\n"
    )
    report = check([str(source)])
    assert not report.unread.missed
    assert {each.severity.value for each in report.findings if each.code == "SS201"} == severities


def test_what_is_done_after_a_failure_is_left_out(tmp_path):
    text = f"""
        int main() {{
            float* p; cudaError_t status = cudaMalloc(&p, 4);
            if (status == cudaSuccess) {{ cudaFree(p); }} else {{ {WORK} }}
        }}"""
    assert [world.contrary for world in reading_of(text, tmp_path).worlds] == [False]


def test_what_the_file_itself_throws_ends_its_path(tmp_path):
    text = f"#include <stdexcept>\nvoid stop() {{ throw 1; }}\nint main() {{ stop(); {WORK} }}"
    assert reading_of(text, tmp_path).missed

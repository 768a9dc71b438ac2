"""Headers that compute a lot, and do nothing to a device: they do not spend what their users need."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from reading import kinds, loud, operations, reading_of

from streamsan import check
from streamsan.cuda_source import Limits, explore

DEEP = 17
PARSER = (
    "#pragma once\nint more(int);\ninline int level0(int n) { return more(n); }\n"
    + "".join(
        f"inline int level{n}(int n) {{ return level{n - 1}(n) + level{n - 1}(n + 1); }}\n" for n in range(1, DEEP)
    )
    + f"""inline int parse(int n) {{ return level{DEEP - 1}(n); }}
struct Pool {{ virtual void reserve(int bytes) = 0; }};
inline void grow(Pool& pool) {{ pool.reserve(parse(3)); }}
"""
)
TWICE = "cudaFree(d); cudaFree(d);"
ONCE = "cudaFree(d);"


def found(folder, text):
    (folder / "parser.h").write_text(PARSER)
    return [each.code for each in loud('#include <cuda_runtime.h>\n#include "parser.h"\n' + text, folder)]


@pytest.mark.parametrize(("frees", "codes"), [(TWICE, ["SS201"]), (ONCE, [])], ids=["wrong", "right"])
def test_the_path_goes_on_behind_a_long_call(tmp_path, frees, codes):
    calls = "parse(1); parse(2);"
    assert found(tmp_path, f"int main() {{ {calls} float* d; cudaMalloc(&d, 4); {frees} }}\n") == codes


def test_what_a_header_issues_is_not_left_out(tmp_path):
    (tmp_path / "wrapper.h").write_text(
        '#pragma once\n#include "parser.h"\ninline void release(float* d) { cudaFree(d); level12(1); cudaFree(d); }\n'
    )
    text = '#include "wrapper.h"\nint main() { float* d; cudaMalloc(&d, 4); release(d); }\n'
    assert found(tmp_path, text) == ["SS201"]


def test_what_headers_mention_by_name_is_read_by_itself(tmp_path):
    (tmp_path / "parser.h").write_text(PARSER)
    text = """#include "parser.h"
        struct Memory : Pool { void* data; void reserve(int bytes) override; };
        void Memory::reserve(int bytes) { cudaFree(data); cudaMalloc(&data, bytes); }
        """
    reading = reading_of(text, tmp_path)
    assert not reading.missed
    assert [world.entry for world in reading.worlds] == ["Memory::reserve"]


ISSUES = """#pragma once
#include "parser.h"
inline void warm(float* d) { cudaMemset(d, 0, 4); level12(1); }
"""


def warmed(folder, rest):
    (folder / "parser.h").write_text(PARSER)
    (folder / "warm.h").write_text(ISSUES)
    text = '#include "warm.h"\n' + f"void work(float* d) {{ warm(d); cudaDeviceSynchronize(); {rest} }}\n"
    return reading_of(text, folder, Limits(steps=2_000, most_steps=2_000))


def test_the_path_goes_on_in_the_file_itself_where_a_header_that_issues_work_spends_its_steps(tmp_path):
    reading = warmed(tmp_path, "warm(d); cudaFree(d);")
    assert not reading.missed
    until_spent, beyond = reading.worlds
    assert until_spent.truncated
    assert (until_spent.contrary, beyond.contrary) == (False, True)
    assert "FREE" not in kinds(operations(until_spent))
    assert kinds(operations(beyond)).count("MEMSET") == 1, "the second call is left out"
    assert kinds(operations(beyond))[-1] == "FREE"


@pytest.mark.parametrize(("frees", "severities"), [(TWICE, {"note"}), (ONCE, set())], ids=["wrong", "right"])
def test_what_is_found_only_behind_it_is_a_note(tmp_path, monkeypatch, frees, severities):
    monkeypatch.setattr(Limits, "for_path", lambda limits, *_: replace(limits, steps=2_000))
    (tmp_path / "parser.h").write_text(PARSER)
    (tmp_path / "warm.h").write_text(ISSUES)
    source = tmp_path / "user.cu"
    source.write_text(
        '#include <cuda_runtime.h>\n#include "warm.h"\n'
        f"int main() {{ float* d; cudaMalloc(&d, 4); warm(d); {frees} }}\n"
    )
    found = check([str(source)]).findings
    assert {each.severity.value for each in found if each.code == "SS201"} == severities


def test_the_path_ends_where_the_file_itself_spends_its_steps(tmp_path):
    loops = "for (int i = 0; i < 60; ++i) for (int j = 0; j < 60; ++j) cudaDeviceSynchronize();"
    reading = reading_of(
        f"void work(float* d) {{ {loops} cudaFree(d); }}\n", tmp_path, Limits(steps=2_000, most_steps=2_000)
    )
    assert [(world.truncated, world.contrary) for world in reading.worlds] == [(True, False)]


def test_a_short_function_is_not_spent_by_a_call_that_does_nothing(tmp_path):
    (tmp_path / "parser.h").write_text(PARSER)
    reading = reading_of(
        '#include "parser.h"\nvoid work(float* d) { parse(1); cudaFree(d); }\n',
        tmp_path,
        Limits(steps=400, most_steps=400),
    )
    assert [world.truncated for world in reading.worlds] == [False]
    assert not reading.missed


def test_the_length_of_headers_is_no_leave_to_spend_all_in_one_path(tmp_path, monkeypatch):
    monkeypatch.setattr(explore, "MOST_HEADER_LINES", 10)
    (tmp_path / "parser.h").write_text(PARSER + "inline int unused(int n) {" + "\n" * 1000 + "return n; }\n")
    loops = "for (int i = 0; i < 30; ++i) for (int j = 0; j < 30; ++j) cudaDeviceSynchronize();"
    text = f'#include "parser.h"\nint main() {{ {loops} }}\n'
    few = Limits(steps=1_000, most_steps=50_000)
    assert reading_of(text, tmp_path, few).worlds[0].truncated
    monkeypatch.undo()
    assert not reading_of(text, tmp_path, few).worlds[0].truncated

"""Headers that compute a lot, and do nothing to a device: they do not spend what their users need."""

from __future__ import annotations

import pytest
from reading import loud, reading_of

from streamsan.cuda_source import Limits

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


def test_a_short_function_is_not_spent_by_a_call_that_does_nothing(tmp_path):
    (tmp_path / "parser.h").write_text(PARSER)
    reading = reading_of(
        '#include "parser.h"\nvoid work(float* d) { parse(1); cudaFree(d); }\n',
        tmp_path,
        Limits(steps=400, most_steps=400),
    )
    assert [world.truncated for world in reading.worlds] == [False]
    assert not reading.missed

"""A class that says how it is copied, made of what is no object of it: the copying constructor is not the one."""

from __future__ import annotations

import pytest
from reading import loud

HEAD = "#include <cuda_runtime.h>\n"
COPIED = "struct Buffer { float* p; Buffer(const Buffer& other) : p(other.p) {} };\n"
MOVED = "struct Buffer { float* p; Buffer(const Buffer& o) : p(o.p) {} Buffer(Buffer&& o) : p(o.p) {} };\n"
SIZED = """template <typename T> struct Buffer {
  T* p;
  Buffer(const Buffer& other) : p(other.p) {}
  template <typename Size> Buffer(Size&& size, int more = 0) { cudaMalloc(&p, size); }
};
"""
TWICE = "float* d; cudaMalloc(&d, 4); cudaFree(d); cudaFree(d);"
ONCE = "float* d; cudaMalloc(&d, 4); cudaFree(d);"


def found(folder, text):
    return [(each.code, each.location.line) for each in loud(HEAD + text, folder)]


@pytest.mark.parametrize("kind", [COPIED, MOVED], ids=["copied", "moved"])
@pytest.mark.parametrize("made", ["Buffer a = make();", "Buffer a(make());", "Buffer a{make()};", "take(make());"])
@pytest.mark.parametrize(("rest", "codes"), [(TWICE, ["SS201"]), (ONCE, [])], ids=["wrong", "right"])
def test_what_unseen_code_makes_is_copied_and_the_path_goes_on(tmp_path, kind, made, rest, codes):
    text = f"{kind}Buffer make();\nvoid take(Buffer buffer) {{}}\nint main() {{ {made} {rest} }}\n"
    assert [code for code, _ in found(tmp_path, text)] == codes


@pytest.mark.parametrize(("frees", "codes"), [("cudaFree(a.p);", []), ("cudaFree(a.p); cudaFree(a.p);", ["SS201"])])
def test_a_number_goes_to_the_constructor_that_takes_one(tmp_path, frees, codes):
    text = f"{SIZED}int main() {{ Buffer<float> a = Buffer<float>(100); {frees} }}\n"
    assert [code for code, _ in found(tmp_path, text)] == codes


def test_a_number_that_no_constructor_takes_ends_no_path(tmp_path):
    assert [code for code, _ in found(tmp_path, f"{COPIED}int main() {{ Buffer a(100); {TWICE} }}\n")] == ["SS201"]

"""Which class or function a name means, where an alias, a base or another overload has the same name."""

from __future__ import annotations

import pytest
from reading import loud

HEAD = "#include <cuda_runtime.h>\n"
COORDINATES = """
namespace other { template <class... T> struct tuple {}; template <class... T> using Coord = tuple<T...>; }
namespace lib {
template <int Rank> struct Coord {
  int index[Rank];
  explicit Coord(int value) { index[0] = value; }
};
struct Two : public Coord<2> {
  using Base = Coord<2>;
  explicit Two(int value) : Base(value) {}
  int first() const { return this->index[0]; }
};
}
"""
TRAITS = """
struct Buffer { float* p; Buffer() { cudaMalloc(&p, 4); } void release() { cudaFree(p); } };
struct Other { Other(); void release(); };
template <typename T> struct plain { using type = T; };
template <typename T> struct plain<T*> { using type = Other; };
template <typename T> using plain_t = typename plain<T>::type;
"""
OPTIONS = """
struct Line {
  bool given(const char* name) const;
  void get(const char* name, bool& value, bool fallback) const { value = fallback; if (given(name)) value = true; }
  template <typename T> void get(const char* name, T& value, const T& fallback) const { value = fallback; }
  template <typename T> void get(const char* name, T& value) const { get(name, value, value); }
};
"""


def found(folder, text):
    return [each.code for each in loud(HEAD + text, folder)]


@pytest.mark.parametrize(("value", "codes"), [(5, ["SS201"]), (4, [])], ids=["wrong", "right"])
def test_a_class_of_the_own_namespace_comes_before_an_alias_of_another_one(tmp_path, value, codes):
    body = "float* d; cudaMalloc(&d, 4); cudaFree(d); if (two.first() == 5) cudaFree(d);"
    assert found(tmp_path, f"{COORDINATES}int main() {{ lib::Two two({value}); {body} }}\n") == codes


@pytest.mark.parametrize(("value", "codes"), [(5, ["SS201"]), (4, [])], ids=["wrong", "right"])
def test_a_reference_to_a_bool_is_bound_to_no_number(tmp_path, value, codes):
    body = f'Line line; int n = {value}; line.get("n", n); float* d; cudaMalloc(&d, 4); cudaFree(d);'
    assert found(tmp_path, f"{OPTIONS}int main() {{ {body} if (n == 5) cudaFree(d); }}\n") == codes


@pytest.mark.parametrize(("rest", "codes"), [("b.release();", ["SS201"]), ("", [])], ids=["wrong", "right"])
def test_what_a_template_says_for_all_arguments_comes_before_what_it_says_for_some(tmp_path, rest, codes):
    body = f"plain_t<Buffer> b; b.release(); {rest}"
    assert found(tmp_path, f"{TRAITS}int main() {{ {body} }}\n") == codes

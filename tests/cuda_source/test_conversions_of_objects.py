"""Which constructor an object of another class goes to, and a list: by what C++ converts without being asked to."""

from __future__ import annotations

import pytest
from reading import loud

HEAD = """#include <cuda_runtime.h>
#include <initializer_list>
#include <new>
#include <stdexcept>
"""
OPTIONAL = """
struct None { explicit constexpr None(int) {} };
constexpr None NONE{0};
template <class T> class Maybe {
 public:
  Maybe() : has_(false) {}
  Maybe(None) : Maybe() {}
  Maybe(const Maybe& other) : has_(other.has_) { if (has_) new (&storage_) T(other.value()); }
  template <class U> Maybe(const Maybe<U>& other) : has_(other.has_) { if (has_) new (&storage_) T(other.value()); }
  template <class U> Maybe(U&& value) : has_(true) { new (&storage_) T(static_cast<U&&>(value)); }
  const T& value() const {
    if (!has_) throw std::runtime_error("no value");
    return *reinterpret_cast<const T*>(&storage_);
  }
  const T* operator->() const { return &value(); }
 private:
  bool has_;
  typename std::aligned_storage<sizeof(T), alignof(T)>::type storage_;
};
struct View { int size; explicit View(int n) : size(n) {} };
Maybe<View> view_of(int n) { if (n == 7) return View(n); return NONE; }
Maybe<View> no_view() { return NONE; }
"""
SHAPE = """
struct Shape {
  int sizes[4];
  Shape(const Shape& other) { for (int i = 0; i < 4; ++i) sizes[i] = other.sizes[i]; }
  template <class At> Shape(At from, At to) { for (int i = 0; from != to; ++from) sizes[i++] = *from; }
  Shape(std::initializer_list<int> sizes) : Shape(sizes.begin(), sizes.end()) {}
};
struct Tensor { Shape shape; const char* layout; Tensor(Shape s, const char* l) : shape(s), layout(l) {} };
"""
ENDS = pytest.mark.parametrize(
    ("rest", "codes"),
    [("cudaFree(d); cudaFree(d);", ["SS201"]), ("cudaFree(d);", [])],
    ids=["wrong", "right"],
)


def found(folder, text):
    return [each.code for each in loud(HEAD + text, folder)]


@ENDS
def test_an_object_goes_to_the_template_that_takes_it_not_to_a_class_that_it_cannot_become(tmp_path, rest, codes):
    body = f"auto view = view_of(7); float* d; cudaMalloc(&d, 4 * view->size); {rest}"
    assert found(tmp_path, f"{OPTIONAL}int main() {{ {body} }}\n") == codes


@ENDS
def test_what_marks_that_there_is_nothing_goes_to_its_own_constructor(tmp_path, rest, codes):
    caught = f"try {{ no_view().value(); }} catch (...) {{ {rest} return 0; }}"
    body = f"float* d; cudaMalloc(&d, 4); {caught}"
    assert found(tmp_path, f"{OPTIONAL}int main() {{ {body} cudaFree(d); cudaFree(d); }}\n") == codes


@ENDS
@pytest.mark.parametrize(
    "made", ["Shape s({1, 2});", "Shape s{1, 2};", 'Tensor t{{1, 2}, "HW"};', 'Tensor t({1, 2}, "HW");']
)
def test_a_list_goes_to_the_constructor_of_lists_and_not_to_the_copying_one(tmp_path, made, rest, codes):
    body = f"{made} float* d; cudaMalloc(&d, 4); {rest}"
    assert found(tmp_path, f"{SHAPE}int main() {{ {body} }}\n") == codes


TENSORS = """
struct None {};
template <class T, int N> struct Sizes { T values[N]; };
template <class T> float* make(const int (&shape)[2], int space = 0) { return of_shape(shape[0] * shape[1]); }
template <class T> float* make(std::initializer_list<None> none, int space = 0) {
  return make<T>(Sizes<int, 1>{1}, space);
}
template <class T, class Shape> float* make(Shape&& shape, int space = 0) { return of_shape(shape.values[0]); }
"""


@ENDS
@pytest.mark.parametrize("shape", ["{}", "{2, 3}"])
def test_a_function_does_not_call_itself_with_what_only_a_list_in_braces_makes(tmp_path, shape, rest, codes):
    made = "float* of_shape(int n) { float* d; cudaMalloc(&d, 4 * n); return d; }"
    text = f"{made}\n{TENSORS}\nint main() {{ float* d = make<float>({shape}); {rest} }}"
    assert found(tmp_path, text) == codes


@ENDS
def test_a_conversion_that_seems_to_need_itself_ends(tmp_path, rest, codes):
    text = f"""
        struct View;
        struct Reference {{ int* at; Reference(View view); }};
        struct View {{ int size; View(Reference reference) : size(3) {{}} }};
        Reference::Reference(View view) : at(0) {{}}
        struct Tensor;
        Tensor* somewhere();
        void fill(View view) {{}}
        int main() {{ fill(*somewhere()); float* d; cudaMalloc(&d, 4); {rest} }}"""
    assert found(tmp_path, text) == codes


@ENDS
def test_a_container_is_no_number(tmp_path, rest, codes):
    text = f"""
        #include <array>
        enum Space {{ MANAGED, DEVICE }};
        struct Steps {{ int values[1]; }};
        template <class T, class S> float* make(S&& shape, Space space = DEVICE, cudaStream_t stream = 0) {{
            float* d; if (space == MANAGED) {{ cudaMallocManaged(&d, 4); }} else {{ cudaMallocAsync(&d, 4, stream); }}
            return d;
        }}
        template <class T, class S, class N> float* make(S&& shape, N&& steps, cudaStream_t stream = 0) {{
            float* d; cudaMalloc(&d, 4); return d;
        }}
        int main() {{
            std::array<int, 1> shape{{1}}; std::array<int, 1> steps{{1}};
            float* d = make<float>(shape, steps, 0); {rest}
        }}"""
    assert found(tmp_path, text) == codes

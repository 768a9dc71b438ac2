"""Constants by name where a type could stand: the length of `std::array<Slot, kSlots>`; counts of lists."""

from __future__ import annotations

import pytest
from reading import kinds, run

SLOT = "struct Slot { void* p; Slot() { cudaMalloc(&p, 8); } };"


@pytest.mark.parametrize(
    ("before", "made"),
    [
        ("constexpr int kSlots = 3; struct Ring { std::array<Slot, kSlots> slots; };", 3),
        ("struct Ring { static constexpr int kSlots = 2; std::array<Slot, kSlots> slots; };", 2),
        ("enum { kSlots = 4 }; struct Ring { std::array<Slot, kSlots> slots; };", 4),
        ("namespace a { const int kSlots = 2; struct Of { std::array<Slot, kSlots> s; }; } using Ring = a::Of;", 2),
        ("template <class T, int N> struct Of { T s[N]; }; constexpr int kTwo = 2; using Ring = Of<Slot, kTwo>;", 2),
    ],
)
def test_as_many_elements_as_the_constant_says_are_constructed(before, made, tmp_path):
    ops = run(f"{SLOT} {before} int main() {{ Ring r; cudaDeviceSynchronize(); }}", tmp_path)
    assert kinds(ops).count("ALLOC") == made


def test_a_type_with_the_name_of_a_variable_elsewhere_is_a_type(tmp_path):
    text = f"{SLOT} namespace a {{ int Slot = 3; }} int main() {{ std::array<Slot, 2> r; cudaDeviceSynchronize(); }}"
    assert kinds(run(text, tmp_path)).count("ALLOC") == 2


def test_the_size_of_an_array_whose_list_says_its_length(tmp_path):
    sizes = "cudaMalloc(&p, sizeof(list)); cudaMalloc(&p, sizeof list / sizeof list[0]);"
    text = "int main() { void* p; int list[] = {1, 2, 3}; " + sizes + "}"
    assert [op.size for op in run(text, tmp_path) if op.kind == "ALLOC"] == [12, 3]


def test_a_method_with_the_name_of_a_type_of_cuda_is_called(tmp_path):
    text = (
        "struct Two { char* p; char* half(int i) const { return p + 64 * i; } };"
        "int main() { Two t; cudaMalloc(&t.p, 128); struct A : Two { void go() { cudaMemset(half(1), 0, 8); } }; "
        "A a; a.p = t.p; a.go(); }"
    )
    ops = run(text, tmp_path)
    assert next(o.address for o in ops if o.kind == "MEMSET") - next(o.address for o in ops if o.kind == "ALLOC") == 64


def test_without_such_a_method_it_is_a_cast(tmp_path):
    ops = run("int main() { char* p; cudaMalloc(&p, 8); cudaMemset(p, uint(0), 8); }", tmp_path)
    assert kinds(ops) == ["ALLOC", "MEMSET"]

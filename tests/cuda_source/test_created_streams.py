"""Members and globals whose streams the program makes by calls of its own are different streams; others may be one."""

from __future__ import annotations

import pytest

from expectations import check_text
from streamsan.findings.finding import Severity

OWN = Severity.ERROR
"""nothing has to be known to be sure"""
ONE = Severity.NOTE
"""unless the two streams are one and the same"""

CASES = {
    "two members": (OWN, "cudaStream_t a, b; C() { cudaStreamCreate(&a); cudaStreamCreate(&b); }", "a", "b"),
    "checked by a macro": (
        OWN,
        "cudaStream_t a, b; C() { OK(cudaStreamCreate(&a)); OK(cudaStreamCreate(&b)); }",
        "a",
        "b",
    ),
    "null at first": (
        OWN,
        "cudaStream_t a = nullptr, b{}; void init() { cudaStreamCreate(&a); cudaStreamCreate(&b); }",
        "a",
        "b",
    ),
    "made when first needed": (
        OWN,
        "cudaStream_t a{}, b{}; void init() { if (!a) cudaStreamCreate(&a); if (b == nullptr) cudaStreamCreate(&b); }",
        "a",
        "b",
    ),
    "an array": (
        OWN,
        "cudaStream_t s[2]; C() { for (int i = 0; i < 2; ++i) cudaStreamCreate(&s[i]); }",
        "s[0]",
        "s[1]",
    ),
    "an array by pointer": (
        OWN,
        "cudaStream_t s[2]; C() { for (int i = 0; i < 2; ++i) cudaStreamCreate(s + i); }",
        "s[0]",
        "s[1]",
    ),
    "a vector": (
        OWN,
        "std::vector<cudaStream_t> s; C(int n) : s(n) { for (auto& x : s) cudaStreamCreate(&x); }",
        "s[0]",
        "s[1]",
    ),
    "a vector that grows": (
        OWN,
        "std::vector<cudaStream_t> s; C(int n) { for (int i = 0; i < n; ++i) { cudaStream_t x; cudaStreamCreate(&x);"
        " s.push_back(x); } }",
        "s[0]",
        "s[1]",
    ),
    "slots": (
        OWN,
        "struct Slot { cudaStream_t s; float* p; }; std::vector<Slot> v; C(int n) : v(n) { for (auto& x : v)"
        " cudaStreamCreate(&x.s); }",
        "v[0].s",
        "v[1].s",
    ),
    "wrappers": (OWN, "Stream a, b;", "a.s", "b.s"),
    "wrappers in a vector": (OWN, "std::vector<Stream> v; C(int n) : v(n) {}", "v[0].s", "v[1].s"),
    "one given": (ONE, "cudaStream_t a, b; C(cudaStream_t given) : a(given) { cudaStreamCreate(&b); }", "a", "b"),
    "one assigned": (ONE, "cudaStream_t a, b; C() { cudaStreamCreate(&a); b = a; }", "a", "b"),
    "one taken over": (
        ONE,
        "cudaStream_t a, b; C() { cudaStreamCreate(&a); cudaStreamCreate(&b); } void use(cudaStream_t s) { b = s; }",
        "a",
        "b",
    ),
    "if asked for": (
        ONE,
        "cudaStream_t a = 0, b = 0; C(bool two) { if (two) { cudaStreamCreate(&a); cudaStreamCreate(&b); } }",
        "a",
        "b",
    ),
    "written behind a pointer": (
        ONE,
        "cudaStream_t a, b; C() { cudaStreamCreate(&a); cudaStreamCreate(&b); } void share() { borrow(&b); }",
        "a",
        "b",
    ),
    "written by reference": (
        ONE,
        "cudaStream_t a, b; C() { cudaStreamCreate(&a); cudaStreamCreate(&b); } void share() { lend(b); }",
        "a",
        "b",
    ),
    "one in all slots": (
        ONE,
        "std::vector<cudaStream_t> v; cudaStream_t s; C(int n) { cudaStreamCreate(&s); for (int i = 0;"
        " i < n; ++i) v.push_back(s); }",
        "v[0]",
        "v[1]",
    ),
    "a copied slot": (
        ONE,
        "struct Slot { cudaStream_t s; }; std::vector<Slot> v; C(int n) { Slot x; make(x);"
        " v.assign(n, x); } void make(Slot& x) { cudaStreamCreate(&x.s); }",
        "v[0].s",
        "v[1].s",
    ),
    "nobody's": (ONE, "cudaStream_t a, b;", "a", "b"),
    "of another": (ONE, "cudaStream_t a; C() { cudaStreamCreate(&a); }", "a", "given"),
    "of two objects": (ONE, "cudaStream_t a; C() { cudaStreamCreate(&a); } C* next;", "a", "next->a"),
    "a list of values": (
        ONE,
        "cudaStream_t a, b; static C of(cudaStream_t s) { return C{s, s}; }"
        " void init() { cudaStreamCreate(&a); cudaStreamCreate(&b); }",
        "a",
        "b",
    ),
}
HEAD = """
#include <vector>
#define OK(call) do { if ((call) != cudaSuccess) throw 1; } while (0)
void borrow(cudaStream_t*);
void lend(cudaStream_t&);
struct Stream {
    cudaStream_t s;
    Stream() { cudaStreamCreate(&s); }
    Stream(Stream&& other) : s(other.s) { other.s = nullptr; }
    ~Stream() { if (s) cudaStreamDestroy(s); }
};
"""


@pytest.mark.parametrize("name", CASES)
def test_streams_of_an_object_that_nobody_saw_being_made(name, tmp_path):
    severity, members, first, second = CASES[name]
    text = (
        HEAD + f"struct C {{ {members}\n    void run(float* d, float* h, cudaStream_t given) {{\n"
        f"        cudaMemcpyAsync(d, h, 4096, cudaMemcpyHostToDevice, {first});\n"
        f"        cudaMemsetAsync(d, 0, 4096, {second});\n    }}\n}};\n"
    )
    found = [each for each in check_text(text, tmp_path) if each.code == "SS109"]
    assert [each.severity for each in found] == [severity]
    assert ("one and the same" in found[0].message) is (severity is ONE)


GLOBALS = {
    "made by a function": (
        OWN,
        "static cudaStream_t a, b; void init() { cudaStreamCreate(&a); cudaStreamCreate(&b); }",
    ),
    "an array": (OWN, "static cudaStream_t s[2]; void init() { for (int i = 0; i < 2; ++i) cudaStreamCreate(&s[i]); }"),
    "from elsewhere": (ONE, "extern cudaStream_t a, b; void init() { cudaStreamCreate(&a); cudaStreamCreate(&b); }"),
    "set by a caller": (
        ONE,
        "static cudaStream_t a, b; void init() { cudaStreamCreate(&a); } void set(cudaStream_t s) { b = s; }",
    ),
}


@pytest.mark.parametrize("name", GLOBALS)
def test_global_streams_of_a_library(name, tmp_path):
    severity, text = GLOBALS[name]
    first, second = ("s[0]", "s[1]") if "s[2]" in text else ("a", "b")
    text += f"""
void run(float* d, float* h) {{
    cudaMemcpyAsync(d, h, 4096, cudaMemcpyHostToDevice, {first});
    cudaMemsetAsync(d, 0, 4096, {second});
}}
"""
    found = [each for each in check_text(text, tmp_path) if each.code == "SS109"]
    assert [each.severity for each in found] == [severity]

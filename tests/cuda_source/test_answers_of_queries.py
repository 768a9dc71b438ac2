"""Loops and branches that ask for the work of several streams: what their answers say together, however it is written.

Each way has a wrong twin, which goes on while some of the work may not be done.
"""

# ruff: noqa: E501 - programs under test stay as a person would type them
from __future__ import annotations

import pytest
from reading import loud

from streamsan.cuda_source.values.cells import Term
from streamsan.cuda_source.values.query_answers import if_all_are_done, implied, in_any_case
from streamsan.cuda_source.values.terms import combine
from streamsan.model.values import Symbol

PROGRAM = """#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>
#include <cuda_runtime.h>
int main() {
    const int P = 3, n = 64;
    float *device, *pinned;
    cudaMalloc(&device, P * n * 4);
    cudaMallocHost(&pinned, P * n * 4);
    cudaStream_t s[P];
    cudaEvent_t e[P];
    for (int p = 0; p < P; p++) {
        cudaStreamCreateWithFlags(&s[p], cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&e[p], cudaEventDisableTiming);
        cudaMemcpyAsync(pinned + p * n, device + p * n, n * 4, cudaMemcpyDeviceToHost, s[p]);
        cudaEventRecord(e[p], s[p]);
    }
    WAIT
    float sum = 0;
    for (int i = 0; i < P * n; i++) sum += pinned[i];
    for (int p = 0; p < P; p++) cudaStreamSynchronize(s[p]);
    for (int p = 0; p < P; p++) { cudaStreamDestroy(s[p]); cudaEventDestroy(e[p]); }
    cudaFreeHost(pinned);
    cudaFree(device);
    return sum < 0;
}
"""
DONE = "[](cudaEvent_t x) { return cudaEventQuery(x) == cudaSuccess; }"
BUSY = "[](cudaEvent_t x) { return cudaEventQuery(x) == cudaErrorNotReady; }"
WAITS = {
    "all_of": (f"while (!std::all_of(e, e + P, {DONE})) {{}}", f"while (!std::any_of(e, e + P, {DONE})) {{}}"),
    "any_of": (f"while (std::any_of(e, e + P, {BUSY})) std::this_thread::yield();", f"while (std::all_of(e, e + P, {BUSY})) std::this_thread::yield();"),
    "none_of": (f"while (!std::none_of(e, e + P, {BUSY})) {{}}", f"while (std::none_of(e, e + P, {DONE})) {{}}"),
    "all_of in a branch": (f"if (!std::all_of(e, e + P, {DONE})) return 1;", f"if (!std::any_of(e, e + P, {DONE})) return 1;"),
    "all_of leaves": (f"for (;;) {{ if (std::all_of(e, e + P, {DONE})) break; }}", f"for (;;) {{ if (std::any_of(e, e + P, {DONE})) break; }}"),
    "count_if": (f"while (std::count_if(e, e + P, {DONE}) < P) {{}}", f"while (std::count_if(e, e + P, {DONE}) < P - 1) {{}}"),
    "find_if": (f"while (std::find_if(e, e + P, {BUSY}) != e + P) {{}}", f"while (std::find_if(e, e + P, {DONE}) == e + P) {{}}"),
    "accumulate": ("int c = 0; while (c < P) c = std::accumulate(e, e + P, 0, [](int a, cudaEvent_t x) { return a + (cudaEventQuery(x) == cudaSuccess); });",
                   "int c = 0; while (c < 1) c = std::accumulate(e, e + P, 0, [](int a, cudaEvent_t x) { return a + (cudaEventQuery(x) == cudaSuccess); });"),
    "or": ("bool busy = true; while (busy) { busy = false; for (auto x : s) busy |= cudaStreamQuery(x) == cudaErrorNotReady; }",
           "bool busy = true; while (busy) { busy = false; for (auto x : s) busy = cudaStreamQuery(x) == cudaErrorNotReady; }"),
    "and": ("bool done = false; while (!done) { done = true; for (auto x : s) done &= cudaStreamQuery(x) == cudaSuccess; }",
            "bool done = false; while (!done) { done = false; for (auto x : s) done |= cudaStreamQuery(x) == cudaSuccess; }"),
    "a sum": ("int c = 0; while (c < P) { c = 0; for (auto x : s) c += cudaStreamQuery(x) == cudaSuccess; }",
              "int c = 0; while (c < P) { for (auto x : s) c += cudaStreamQuery(x) == cudaSuccess; }"),
    "how many are left": ("int left; do { left = 0; for (auto x : e) left += cudaEventQuery(x) == cudaSuccess ? 0 : 1; } while (left);",
                          "int left; do { left = 0; for (auto x : e) left += cudaEventQuery(x) == cudaSuccess ? 0 : 1; } while (left > 1);"),
    "a mask": ("unsigned m; do { m = 0; for (int p = 0; p < P; p++) m |= unsigned(cudaEventQuery(e[p]) == cudaSuccess) << p; } while (m != 7u);",
               "unsigned m; do { m = 0; for (int p = 0; p < P; p++) m |= unsigned(cudaEventQuery(e[p]) == cudaSuccess) << p; } while ((m & 3u) != 3u);"),
    "a mask of branches": ("unsigned m = 0; while ((m & 7u) != 7u) for (int p = 0; p < P; p++) if (cudaEventQuery(e[p]) == cudaSuccess) m |= 1u << p;",
                           "unsigned m = 0; while ((m & 3u) != 3u) for (int p = 0; p < P; p++) if (cudaEventQuery(e[p]) == cudaSuccess) m |= 1u << p;"),
    "a mask of what is pending": ("unsigned m = 7; while (m) for (int p = 0; p < P; p++) { if (!(m & (1u << p))) continue; if (cudaEventQuery(e[p]) == cudaErrorNotReady) continue; m &= ~(1u << p); }",
                                  "unsigned m = 3; while (m) for (int p = 0; p < P; p++) { if (!(m & (1u << p))) continue; if (cudaEventQuery(e[p]) == cudaErrorNotReady) continue; m &= ~(1u << p); }"),
    "do": ("bool all; do { all = true; for (auto x : s) if (cudaStreamQuery(x) != cudaSuccess) { all = false; break; } } while (!all);",
           "bool all; do { all = false; for (auto x : s) if (cudaStreamQuery(x) == cudaSuccess) { all = true; break; } } while (!all);"),
    "flags": ("bool done[P] = {}; int left = P; while (left > 0) for (int p = 0; p < P; p++) { if (done[p] || cudaEventQuery(e[p]) != cudaSuccess) continue; done[p] = true; left--; }",
              "bool done[P] = {}; int left = P; while (left > 1) for (int p = 0; p < P; p++) { if (done[p] || cudaEventQuery(e[p]) != cudaSuccess) continue; done[p] = true; left--; }"),
    "flags and all_of": ("bool done[P] = {}; while (!std::all_of(done, done + P, [](bool b) { return b; })) for (int p = 0; p < P; p++) done[p] = cudaEventQuery(e[p]) == cudaSuccess;",
                         "bool done[P] = {}; while (!std::any_of(done, done + P, [](bool b) { return b; })) for (int p = 0; p < P; p++) done[p] = cudaEventQuery(e[p]) == cudaSuccess;"),
    "flags that are counted": ("bool done[P] = {}; while (std::count(done, done + P, true) < P) for (int p = 0; p < P; p++) done[p] = cudaEventQuery(e[p]) == cudaSuccess;",
                               "bool done[P] = {}; while (std::count(done, done + P, true) < 1) for (int p = 0; p < P; p++) done[p] = cudaEventQuery(e[p]) == cudaSuccess;"),
    "one after the other": ("int p = 0, left = P; bool seen[P] = {}; while (left > 0) { if (!seen[p] && cudaEventQuery(e[p]) == cudaSuccess) { seen[p] = true; left--; } if (++p == P) p = 0; }",
                            "int p = 0, left = P; while (left > 0) { if (cudaEventQuery(e[p]) == cudaSuccess) left--; if (++p == P) p = 0; }"),
    "a switch": ("int left = P; bool seen[P] = {}; while (left > 0) for (int p = 0; p < P; p++) { if (seen[p]) continue; switch (cudaEventQuery(e[p])) { case cudaSuccess: seen[p] = true; --left; break; case cudaErrorNotReady: break; default: return 1; } }",
                 "int left = P; while (left > 0) for (int p = 0; p < P; p++) { switch (cudaEventQuery(e[p])) { case cudaSuccess: --left; break; case cudaErrorNotReady: break; default: return 1; } }"),
    "patience": ("int spins = 0; bool all = false; while (!all) { if (++spins > 1000) { std::this_thread::yield(); spins = 0; } all = true; for (auto x : e) if (cudaEventQuery(x) != cudaSuccess) all = false; }",
                 "int spins = 0; bool all = false; while (!all) { if (++spins > 1000) break; all = true; for (auto x : e) if (cudaEventQuery(x) != cudaSuccess) all = false; }"),
    "short patience": ("for (auto x : e) { while (true) { if (cudaEventQuery(x) == cudaSuccess) break; } }",
                       "for (auto x : e) { for (int t = 0; t < 10; ++t) { if (cudaEventQuery(x) == cudaSuccess) break; } }"),
}  # fmt: skip


@pytest.mark.parametrize("wait", [right for right, _ in WAITS.values()], ids=WAITS)
def test_what_was_seen_done_is_read(tmp_path, wait):
    assert loud(PROGRAM.replace("WAIT", wait), tmp_path) == []


@pytest.mark.parametrize("wait", [wrong for _, wrong in WAITS.values()], ids=WAITS)
def test_what_may_not_be_done_is_not_read(tmp_path, wait):
    assert {each.code for each in loud(PROGRAM.replace("WAIT", wait), tmp_path)} == {"SS108"}


@pytest.mark.parametrize(
    ("wait", "found"),
    [
        ("bool busy = true; while (busy) { busy = false; for (auto x : s) busy |= cudaStreamQuery(x) == cudaErrorNotReady; }", set()),
        ("bool done = false; while (!done) { done = false; for (auto x : s) done |= cudaStreamQuery(x) == cudaSuccess; }", {"SS108"}),
    ],
    ids=["right", "wrong"],
)  # fmt: skip
def test_more_answers_than_are_held_together(tmp_path, wait, found):
    assert {each.code for each in loud(PROGRAM.replace("P = 3", "P = 12").replace("WAIT", wait), tmp_path)} == found


@pytest.mark.parametrize(("late", "found"), [("return 1;", set()), ("break;", {"SS108"})], ids=["right", "wrong"])
def test_a_loop_that_ends_by_a_clock_may_give_up(tmp_path, late, found):
    wait = (
        "auto begin = std::chrono::steady_clock::now(); bool all = false; while (!all) { all = true;"
        " for (auto x : e) if (cudaEventQuery(x) != cudaSuccess) all = false;"
        f" if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(5)) {late} }}"
    )
    assert {each.code for each in loud(PROGRAM.replace("WAIT", wait), tmp_path)} == found


A, B, N = (Symbol(number, name, "input") for number, name in enumerate(("a", "b", "n"), 1))


def test_what_a_condition_says_of_each_query():
    busy = combine("|", combine("==", A, 600), combine("==", B, 600))
    assert implied(busy, False, [A, B]) == {A: True, B: True}
    assert implied(busy, True, [A, B]) == {}
    assert if_all_are_done(busy, [A, B]) is False


def test_what_else_a_condition_rests_on_may_be_anything():
    both = combine("&&", combine("==", A, 0), N)
    assert implied(both, True, [A]) == {A: True}
    assert implied(both, False, [A]) == {}
    assert if_all_are_done(both, [A]) is None


def test_a_condition_may_not_rest_on_its_queries():
    assert in_any_case(combine("|", 1, combine("==", A, 0)), [A]) is True
    assert in_any_case(Term("?:", (A, 0, 0)), [A]) is False
    assert in_any_case(combine("==", A, 0), [A]) is None

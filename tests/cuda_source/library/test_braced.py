# ruff: noqa: E501 - programs under test stay as a person would type them
"""Braced lists as arguments, removal by a predicate, variants behind iterators, and pointers that nobody follows."""

from __future__ import annotations

import pytest
from reading import kinds, reading_of, run, run_main

ITEM = """#include <vector>
#include <map>
#include <queue>
#include <stack>
#include <list>
#include <set>
#include <array>
#include <variant>
#include <algorithm>
#include <optional>
#include <initializer_list>
struct Item { void* p; int n; };
"""
MAKE = "void* p; cudaMalloc(&p, 64);"

ALL_FREED = {
    "function": ("static void release(Item i) { cudaFree(i.p); }", f"for (int i = 0; i < 2; i++) {{ {MAKE} release({{p, 64}}); }}"),
    "designated": ("static void release(const Item& i) { cudaFree(i.p); }", f"for (int i = 0; i < 2; i++) {{ {MAKE} release({{.p = p, .n = 1}}); }}"),
    "constructor": ("struct Own { Item it; explicit Own(Item i) : it(i) {} ~Own() { cudaFree(it.p); } };", f"for (int i = 0; i < 2; i++) {{ {MAKE} Own o({{p, 64}}); }}"),
    "overloads": ("static void put(int n) {} static void put(Item i) { cudaFree(i.p); }", f"for (int i = 0; i < 2; i++) {{ {MAKE} put({{p, 64}}); }}"),
    "lambda": ("", f"auto f = [](Item i) {{ cudaFree(i.p); }}; for (int i = 0; i < 2; i++) {{ {MAKE} f({{p, 64}}); }}"),
    "initializer list": ("struct All { std::vector<void*> v; All(std::initializer_list<void*> l) : v(l) {} ~All() { for (auto* p : v) cudaFree(p); } };", "void *p, *q; cudaMalloc(&p, 4); cudaMalloc(&q, 4); All a{p, q};"),
    "nested": ("struct Outer { Item a; int k; }; static void release(Outer o) { cudaFree(o.a.p); }", f"for (int i = 0; i < 2; i++) {{ {MAKE} release({{{{p, 1}}, i}}); }}"),
    "new": ("struct Node { Item x; Node* next; };", f"Node* q = nullptr; for (int i = 0; i < 2; i++) {{ {MAKE} q = new Node{{{{p, i}}, q}}; }} while (q) {{ Node* n = q->next; cudaFree(q->x.p); delete q; q = n; }}"),
    "vector": ("", f"std::vector<Item> v; for (int i = 0; i < 2; i++) {{ {MAKE} v.push_back({{p, i}}); }} while (!v.empty()) {{ Item x = v.back(); v.pop_back(); cudaFree(x.p); }}"),
    "insert": ("", f"std::vector<Item> v; for (int i = 0; i < 2; i++) {{ {MAKE} v.insert(v.begin(), {{p, i}}); }} for (auto& x : v) cudaFree(x.p);"),
    "vector of pairs": ("", f"std::vector<std::pair<Item, int>> v; for (int i = 0; i < 2; i++) {{ {MAKE} v.push_back({{{{p, 1}}, i}}); }} for (auto& x : v) cudaFree(x.first.p);"),
    "queue": ("", f"std::queue<Item> v; for (int i = 0; i < 2; i++) {{ {MAKE} v.push({{p, i}}); }} while (!v.empty()) {{ cudaFree(v.front().p); v.pop(); }}"),
    "stack": ("", f"std::stack<Item> v; for (int i = 0; i < 2; i++) {{ {MAKE} v.push({{p, i}}); }} while (!v.empty()) {{ cudaFree(v.top().p); v.pop(); }}"),
    "list": ("", f"std::list<Item> v; for (int i = 0; i < 2; i++) {{ {MAKE} v.push_front({{p, i}}); }} for (auto& x : v) cudaFree(x.p);"),
    "map": ("", f"std::map<int, Item> m; for (int i = 0; i < 2; i++) {{ {MAKE} m.insert({{i, {{p, 64}}}}); }} for (auto& [k, v] : m) cudaFree(v.p);"),
    "map of pairs": ("", f"std::map<std::pair<int, int>, void*> m; for (int i = 0; i < 2; i++) {{ {MAKE} m[{{i, 1}}] = p; }} for (int i = 0; i < 2; i++) cudaFree(m[{{i, 1}}]);"),
    "entries": ("", "void *p, *q; cudaMalloc(&p, 4); cudaMalloc(&q, 4); std::map<int, void*> m; m.insert({{1, p}, {2, q}}); for (auto& e : m) cudaFree(e.second);"),
    "map's own list": ("", "void *p, *q; cudaMalloc(&p, 4); cudaMalloc(&q, 4); std::map<int, Item> m{{1, {p, 1}}, {2, {q, 2}}}; for (auto& e : m) cudaFree(e.second.p);"),
    "set": ("", "void *p, *q; cudaMalloc(&p, 4); cudaMalloc(&q, 4); std::set<void*> s; s.insert({p, q}); for (auto* x : s) cudaFree(x);"),
    "array": ("", "void *p, *q; cudaMalloc(&p, 4); cudaMalloc(&q, 4); std::array<Item, 2> a{{{p, 1}, {q, 2}}}; for (auto& x : a) cudaFree(x.p);"),
    "list of one": ("static void all(std::vector<void*> v) { for (auto* x : v) cudaFree(x); }", f"for (int i = 0; i < 2; i++) {{ {MAKE} all({{p}}); }}"),
    "optional": ("static void put(std::optional<Item> o) { cudaFree(o->p); }", f"for (int i = 0; i < 2; i++) {{ {MAKE} put({{{{p, 3}}}}); }}"),
    "returned": ("static Item make() { void* p; cudaMalloc(&p, 4); return {p, 4}; } static void put(Item i) { cudaFree(i.p); }", "put(make()); put({make().p, 1});"),
    "remove_if": ("", f"std::vector<void*> v; for (int i = 0; i < 2; i++) {{ {MAKE} v.push_back(p); }} v.erase(std::remove_if(v.begin(), v.end(), [](void* p) {{ cudaFree(p); return true; }}), v.end());"),
    "erase_if": ("", f"std::vector<Item> v; for (int i = 0; i < 2; i++) {{ {MAKE} v.push_back({{p, i}}); }} std::erase_if(v, [](Item& x) {{ if (x.n) return false; cudaFree(x.p); return true; }}); for (auto& x : v) cudaFree(x.p);"),
    "erase_if of a map": ("", f"std::map<int, void*> v; for (int i = 0; i < 2; i++) {{ {MAKE} v[i] = p; }} std::erase_if(v, [](auto& x) {{ cudaFree(x.second); return true; }});"),
    "list's remove_if": ("", f"std::list<void*> v; for (int i = 0; i < 2; i++) {{ {MAKE} v.push_back(p); }} v.remove_if([](void* p) {{ cudaFree(p); return true; }});"),
    "lower_bound": ("", f"std::multimap<int, void*> m; for (int i = 2; i > 0; i--) {{ {MAKE} m.emplace(i * 64, p); }} for (int i = 0; i < 2; i++) {{ auto it = m.lower_bound(60); if (it != m.end()) {{ cudaFree(it->second); m.erase(it); }} }}"),
    "equal_range": ("", f"std::multimap<int, void*> m; for (int i = 0; i < 2; i++) {{ {MAKE} m.emplace(64, p); }} auto r = m.equal_range(64); for (auto it = r.first; it != r.second; ++it) cudaFree(it->second);"),
    "variant": ("struct A { void* p; }; struct B { void* q; };", "std::vector<std::variant<A, B>> v; void *p, *q; cudaMalloc(&p, 4); cudaMalloc(&q, 4); v.push_back(A{p}); v.push_back(B{q}); for (auto& x : v) { if (auto* a = std::get_if<A>(&x)) cudaFree(a->p); if (std::holds_alternative<B>(x)) cudaFree(std::get<B>(x).q); }"),
}  # fmt: skip


@pytest.mark.parametrize("case", ALL_FREED)
def test_what_a_list_carries_arrives(tmp_path, case):
    before, body = ALL_FREED[case]
    ops = run_main(f"  {body}", tmp_path, ITEM + before)
    assert sorted(kinds(ops)) == ["ALLOC", "ALLOC", "FREE", "FREE"]
    assert sorted(op.address for op in ops if op.kind == "ALLOC") == sorted(
        op.address for op in ops if op.kind == "FREE"
    )


def test_elements_that_stay_keep_their_order(tmp_path):
    body = """  std::vector<void*> v; void *p, *q, *r; cudaMalloc(&p, 4); cudaMalloc(&q, 4); cudaMalloc(&r, 4);
  v.insert(v.end(), {p, q, r}); v.erase(std::remove(v.begin(), v.end(), q), v.end()); cudaFree(v[1]); cudaFree(v[0]);"""
    ops = run_main(body, tmp_path, ITEM)
    assert [op.address for op in ops if op.kind == "FREE"] == [ops[2].address, ops[0].address]


UNFOLLOWED = {
    "a place in an unseen object": "Registry* r = Registry::get(); for (int i = 0; i < 3; i++) { float* p; cudaMalloc(&p, 4); r->bufs[i] = p; }",
    "an unseen container": "flat_map<int, Item> q; for (int i = 0; i < 3; i++) { void* p; cudaMalloc(&p, 4); q[i] = {p, 4}; }",
    "an unseen class": "for (int i = 0; i < 3; i++) { void* p; cudaMalloc(&p, 4); Keeper k{p, 4}; }",
    "an argument that fits nothing": "for (int i = 0; i < 3; i++) { void* p; cudaMalloc(&p, 4); Two t(p, 1, 2); }",
}  # fmt: skip


@pytest.mark.parametrize("case", UNFOLLOWED)
def test_a_pointer_that_nobody_follows_is_not_lost(tmp_path, case):
    two = "struct Two { explicit Two(int a) {} };"
    ops = run_main(f"  {UNFOLLOWED[case]}", tmp_path, ITEM + two)
    assert kinds(ops).count("ALLOC") == 3
    assert "POINTER_LOST" not in kinds(ops)
    assert "NOT_UNDERSTOOD" in kinds(ops)
    assert "OPAQUE_CALL" in kinds(ops)


def test_a_list_that_is_dropped_still_loses_its_pointer(tmp_path):
    body = "  for (int i = 0; i < 3; i++) { void* p; cudaMalloc(&p, 4); look({p, 1}); }"
    ops = run_main(body, tmp_path, ITEM + "static void look(const Item& i) {}")
    assert kinds(ops).count("POINTER_LOST") == 3


def test_the_text_of_what_is_not_understood_stands_alone(tmp_path):
    reading = reading_of("template <class... T> void free_all(T*... p);\nint main() {}\n", tmp_path)
    assert reading.problems
    assert not any("not understood" in problem.text for problem in reading.problems)


def test_a_list_given_to_unseen_code_escapes(tmp_path):
    ops = run("void keep(Unseen u);\nint main() { void* p; cudaMalloc(&p, 4); keep({p, 1}); }", tmp_path)
    assert kinds(ops) == ["ALLOC", "OPAQUE_CALL", "NOT_UNDERSTOOD"]

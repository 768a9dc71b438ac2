"""Containers and small objects of the standard library give back the very handle or pointer that was put in."""

# ruff: noqa: E501 - programs under test stay as a person would type them
from __future__ import annotations

import pytest
from reading import kinds, operations, reading_of, run_main

STREAMS = "cudaStream_t a, b; cudaStreamCreate(&a); cudaStreamCreate(&b); float* d; cudaMalloc(&d, 4);"

FIRST_THEN_SECOND = {
    "map by literal": 'std::map<std::string, cudaStream_t> m; m["x"] = a; m["y"] = b; USE(m["x"]); USE(m["y"]);',
    "map by string": 'std::map<std::string, cudaStream_t> m; std::string k = "x"; m[k] = a; m["y"] = b; USE(m["x"]); USE(m.at("y"));',
    "map by joined string": 'std::unordered_map<std::string, cudaStream_t> m; m["x" + std::to_string(1)] = a; std::string p("x"); m[p + "1"] = a; m[p + std::to_string(2)] = b; USE(m["x1"]); USE(m["x2"]);',
    "map by int": "std::unordered_map<int, cudaStream_t> m; for (int i = 0; i < 2; ++i) m[i] = i ? b : a; USE(m[0]); USE(m[1]);",
    "map found": "std::map<int, cudaStream_t> m; m.insert({1, a}); m.emplace(2, b); auto it = m.find(1); if (it != m.end()) USE(it->second); if (m.count(2)) USE(m.find(2)->second);",
    "map braced": 'std::map<std::string, cudaStream_t> m{{"x", a}, {"y", b}}; for (auto& [k, s] : m) USE(s);',
    "map iterators": "std::map<int, cudaStream_t> m; m[1] = a; m[2] = b; for (auto it = m.begin(); it != m.end(); ++it) USE(it->second);",
    "map erased": "std::map<int, cudaStream_t> m; m[0] = b; m[1] = a; m[2] = b; m.erase(0); USE(m.begin()->second); m.erase(m.begin()); USE(m.begin()->second);",
    "map insert keeps": "std::map<int, cudaStream_t> m; m[1] = a; m.insert({1, b}); USE(m[1]); m.insert_or_assign(1, b); USE(m[1]);",
    "map of pairs": "std::map<int, std::pair<cudaStream_t, int>> m; m[1] = std::make_pair(a, 3); m[2] = {b, 4}; USE(m[1].first); USE(m[2].first);",
    "map by pointer": "std::map<float*, cudaStream_t> m; float* e; cudaMalloc(&e, 4); m[d] = a; m[e] = b; USE(m[d]); USE(m[e]); cudaFree(e);",
    "map of vectors": "std::map<int, std::vector<cudaStream_t>> m; m[0].push_back(a); m[0].push_back(b); USE(m[0][0]); USE(m[0].back());",
    "set": "std::set<cudaStream_t> m; m.insert(a); m.insert(b); m.insert(a); for (auto s : m) USE(s);",
    "pair": "auto p = std::make_pair(a, b); USE(p.first); USE(p.second);",
    "pair bound": "std::pair<cudaStream_t, cudaStream_t> p{a, b}; auto [x, y] = p; USE(x); USE(y);",
    "tuple": "std::tuple<cudaStream_t, int, cudaStream_t> t(a, 1, b); USE(std::get<0>(t)); USE(std::get<2>(t));",
    "tie": "cudaStream_t x, y; std::tie(x, y) = std::make_tuple(a, b); USE(x); USE(y);",
    "optional": "std::optional<cudaStream_t> o; if (!o) o = a; USE(*o); o = b; if (o.has_value()) USE(o.value());",
    "variant": "std::variant<int, cudaStream_t> v = a; USE(std::get<cudaStream_t>(v)); v = b; USE(std::get<1>(v));",
    "queue": "std::queue<cudaStream_t> q; q.push(a); q.push(b); USE(q.front()); q.pop(); USE(q.front());",
    "stack": "std::stack<cudaStream_t> q; q.push(b); q.push(a); USE(q.top()); q.pop(); USE(q.top());",
    "deque": "std::deque<cudaStream_t> q; q.push_back(b); q.push_front(a); USE(q.front()); USE(q[1]);",
    "list": "std::list<cudaStream_t> q{a, b}; for (auto s : q) USE(s);",
    "vector insert": "std::vector<cudaStream_t> v; v.push_back(b); v.insert(v.begin(), a); USE(v[0]); USE(v[1]);",
    "vector erase": "std::vector<cudaStream_t> v{b, a, b}; v.erase(v.begin()); USE(v.front()); USE(v.back());",
    "vector backwards": "std::vector<cudaStream_t> v{b, a}; for (auto it = v.rbegin(); it != v.rend(); ++it) USE(*it);",
    "vector copied range": "std::vector<cudaStream_t> v{a, b}; std::vector<cudaStream_t> w(v.begin(), v.end()); USE(w[0]); USE(w[1]);",
    "vector swapped": "std::vector<cudaStream_t> v{b}, w{a}; v.swap(w); USE(v[0]); std::swap(v, w); USE(v[0]);",
    "array": "std::array<cudaStream_t, 2> v{a, b}; USE(v[0]); USE(v.at(1));",
    "span": "cudaStream_t v[2] = {a, b}; std::span<cudaStream_t> w(v); USE(w[0]); USE(w.back());",
    "begin and end": "cudaStream_t v[] = {a, b}; for (auto p = std::begin(v); p != std::end(v); ++p) USE(*p);",
    "for_each": "std::vector<cudaStream_t> v{a, b}; std::for_each(v.begin(), v.end(), [&](cudaStream_t s) { USE(s); });",
    "ranges": "std::vector<cudaStream_t> v{a, b}; std::ranges::for_each(v, [&](auto s) { USE(s); });",
    "transform": "std::vector<int> n{0, 1}; std::vector<cudaStream_t> v; std::transform(n.begin(), n.end(), std::back_inserter(v), [&](int i) { return i ? b : a; }); USE(v[0]); USE(v[1]);",
    "copy": "cudaStream_t v[2] = {a, b}, w[2]; std::copy(v, v + 2, w); USE(w[0]); USE(w[1]);",
    "fill": "cudaStream_t v[2]; std::fill(v, v + 2, a); USE(v[1]); std::fill_n(v, 2, b); USE(v[0]);",
    "memcpy": "cudaStream_t v[2] = {a, b}, w[2]; memcpy(w, v, sizeof(v)); USE(w[0]); USE(w[1]);",
    "function": "std::function<void(cudaStream_t)> f = [&](cudaStream_t s) { USE(s); }; f(a); f(b);",
    "functions in a map": "std::map<int, std::function<void()>> m; m[0] = [&] { USE(a); }; m[1] = [&] { USE(b); }; for (auto& [k, f] : m) f();",
    "apply": "std::apply([&](cudaStream_t x, cudaStream_t y) { USE(x); USE(y); }, std::make_tuple(a, b));",
    "exchange": "cudaStream_t x = a; USE(std::exchange(x, b)); USE(x);",
}  # fmt: skip


@pytest.mark.parametrize("body", FIRST_THEN_SECOND.values(), ids=FIRST_THEN_SECOND)
def test_what_goes_in_comes_out(body, tmp_path):
    before = "#define USE(s) fill<<<1, 1, 0, (s)>>>(d, 1)"
    ops = run_main(f"{STREAMS}\n{body}\ncudaDeviceSynchronize(); cudaFree(d);", tmp_path, before=before)
    made = [op.object for op in ops if op.kind == "STREAM_CREATE"]
    assert [op.stream for op in ops if op.kind == "LAUNCH"] == made
    assert [op.label for op in ops if op.kind in ("NOT_UNDERSTOOD", "OPAQUE_CALL")] == []


def test_a_key_that_nobody_knows_gives_an_unknown_pointer_and_no_failure(tmp_path):
    before = """std::map<size_t, float*> cache;
float* get(size_t n) { auto it = cache.find(n); if (it != cache.end()) return it->second; float* p; cudaMalloc(&p, n); cache[n] = p; return p; }"""
    text = f"""{before}
int main(int argc, char** argv) {{ fill<<<1, 1>>>(get(argc), 1); fill<<<1, 1>>>(get(argc), 1); fill<<<1, 1>>>(get(64), 1);
  for (auto& entry : cache) cudaFree(entry.second); cache.clear(); }}"""
    worlds = reading_of(text, tmp_path).worlds
    launches = [[op.object for op in operations(world) if op.kind == "LAUNCH"] for world in worlds]
    assert all(first == second for first, second, _ in launches), "one key is one block"
    assert all("NOT_UNDERSTOOD" not in kinds(operations(world)) for world in worlds)

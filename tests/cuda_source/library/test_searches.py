"""What is asked of a range's elements: a pool's free block, the stream with the least to do, whether all are busy."""

from __future__ import annotations

import pytest
from reading import operations, reading_of

BEFORE = """#include <algorithm>
#include <numeric>
#include <vector>
struct Lane { cudaStream_t stream; int load; bool busy; };
"""
START = """std::vector<Lane> lanes(3);
  for (int i = 0; i < 3; ++i) { cudaStreamCreate(&lanes[i].stream); lanes[i].load = i == 1 ? 0 : 5 + i; }
  lanes[0].busy = true; lanes[1].busy = false; lanes[2].busy = true;
  float* d; cudaMalloc(&d, 4);
"""
SEARCHES = {
    "the least": ("std::min_element(lanes.begin(), lanes.end(), [](auto& a, auto& b) { return a.load < b.load; })", 1),
    "the most": ("std::max_element(lanes.begin(), lanes.end(), [](auto& a, auto& b) { return a.load < b.load; })", 2),
    "the free one": ("std::find_if(lanes.begin(), lanes.end(), [](const Lane& a) { return !a.busy; })", 1),
    "the first busy one": ("std::find_if_not(lanes.begin(), lanes.end(), [](const Lane& a) { return !a.busy; })", 0),
}


NUMBERS = {
    "all_of": ("std::all_of(lanes.begin(), lanes.end(), [](auto& a) { return a.busy; }) ? 0 : 2", 2),
    "all_of others": ("std::all_of(lanes.begin(), lanes.end(), [](auto& a) { return a.load < 9; }) ? 1 : 0", 1),
    "any_of": ("std::any_of(lanes.begin(), lanes.end(), [](auto& a) { return a.load == 7; }) ? 2 : 0", 2),
    "none_of": ("std::none_of(lanes.begin(), lanes.end(), [](auto& a) { return a.load == 7; }) ? 2 : 1", 1),
    "count_if": ("std::count_if(lanes.begin(), lanes.end(), [](auto& a) { return a.busy; })", 2),
    "count": ("std::count(at.begin(), at.end(), 1)", 1),
    "accumulate": ("std::accumulate(at.begin(), at.end(), 0) - 1", 2),
    "accumulate, with a lambda": (
        "std::accumulate(lanes.begin(), lanes.end(), 0, [](int n, auto& a) { return n + a.load; }) - 10",
        2,
    ),
}


def launched_on(body: str, folder) -> list[list[int]]:
    """Return, for each path, on which of the streams, by the order in which they were made, the kernels run."""
    worlds = reading_of(f"{BEFORE}int main() {{ {START} {body} }}", folder).worlds
    found = []
    for ops in map(operations, worlds):
        made = [op.object for op in ops if op.kind == "STREAM_CREATE"]
        found.append([made.index(op.stream) if op.stream in made else -1 for op in ops if op.kind == "LAUNCH"])
    return found


@pytest.mark.parametrize(("search", "which"), SEARCHES.values(), ids=SEARCHES)
def test_the_element_that_is_found(search, which, tmp_path):
    assert launched_on(f"fill<<<1, 1, 0, {search}->stream>>>(d, 1);", tmp_path) == [[which]]


@pytest.mark.parametrize(("number", "which"), NUMBERS.values(), ids=NUMBERS)
def test_what_elements_come_to_together(number, which, tmp_path):
    body = f"std::vector<int> at{{2, 1, 0}}; int k = {number}; fill<<<1, 1, 0, lanes[k].stream>>>(d, 1);"
    assert launched_on(body, tmp_path) == [[which]]


@pytest.mark.parametrize("algorithm", ["all_of", "count_if", "find_if"])
def test_what_is_issued_for_each_element_is_so_where_no_answer_is_known(algorithm, tmp_path):
    body = f"""bool ask();
    auto each = [&](auto& lane) {{ fill<<<1, 1, 0, lane.stream>>>(d, 1); return ask(); }};
    std::{algorithm}(lanes.begin(), lanes.end(), each);"""
    assert launched_on(body, tmp_path) == [[0, 1, 2]]


def test_a_handle_is_found_among_handles(tmp_path):
    body = """std::vector<cudaStream_t> all{lanes[0].stream, lanes[1].stream, lanes[2].stream};
    auto it = std::find(all.begin(), all.end(), lanes[2].stream);
    if (it != all.end()) fill<<<1, 1, 0, all[it - all.begin()]>>>(d, 1);"""
    assert launched_on(body, tmp_path) == [[2]]


def test_nothing_is_found_at_the_end(tmp_path):
    body = """auto it = std::find_if(lanes.begin(), lanes.end(), [](auto& a) { return a.load > 100; });
    fill<<<1, 1, 0, lanes[it == lanes.end() ? 1 : 0].stream>>>(d, 1);"""
    assert launched_on(body, tmp_path) == [[1]]


def test_where_an_answer_is_not_known_either_way_is_taken(tmp_path):
    body = """lanes[0].busy = ask();
    auto it = std::find_if(lanes.begin(), lanes.end(), [](auto& a) { return !a.busy; });
    if (it == lanes.end()) fill<<<1, 1>>>(d, 1); else fill<<<1, 1, 0, lanes[1].stream>>>(d, 1);"""
    assert sorted(launched_on(body, tmp_path)) == [[-1], [1]]

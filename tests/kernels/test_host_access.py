"""Whether a host function's body only reads what the function is given."""

from __future__ import annotations

import pytest

from streamsan.cuda_syntax.tree import Function, Lambda
from streamsan.cuda_syntax.unit import read_text
from streamsan.cuda_syntax.walk import nodes
from streamsan.kernels.host_access import given_access, given_object
from streamsan.vocabulary import AccessMode

HEAD = """\
#include <atomic>
#include <cstdio>
#include <mutex>
struct Part { int count; float* values; };
struct State { int count; float* values; std::atomic<int>* done; std::mutex lock; bool ready; Part part; };
void see(const State* state) { std::printf("%d", state->count); }
void change(State* state) { state->count = 0; }
"""


def access(body: str) -> AccessMode:
    unit = read_text(HEAD + f"void called(void* given) {{ {body} }}\n")
    function = next(each for each in unit.declarations if isinstance(each, Function) and each.name == "called")
    return given_access(function, unit)


@pytest.mark.parametrize(
    "body",
    [
        'auto* state = static_cast<State*>(given); std::printf("%d", state->count);',
        'State* state = (State*)given; printf("%f", state->values[0]);',
        "auto& state = *static_cast<State*>(given); std::cout << state.part.count;",
        "auto* state = static_cast<State*>(given); state->done->fetch_add(1);",
        "State copy = *static_cast<State*>(given); copy.count = 1;",
        "int* number = reinterpret_cast<int*>(given); int twice = 2 * *number;",
        "see(static_cast<State*>(given));",
    ],
)
def test_a_body_that_only_reads(body: str) -> None:
    assert access(body) is AccessMode.READ


@pytest.mark.parametrize(
    "body",
    [
        "auto* state = static_cast<State*>(given); state->count = 2;",
        "State& state = *(State*)given; state.part.count = 2;",
        "auto* state = static_cast<State*>(given); ++state->count;",
        "auto* state = static_cast<State*>(given); std::lock_guard<std::mutex> guard(state->lock);",
        "auto* state = static_cast<State*>(given); state->lock.lock();",
        "change(static_cast<State*>(given));",
        "unseen(given);",
        "auto* state = static_cast<State*>(given); unseen(state->count);",
        "delete static_cast<State*>(given);",
        "free(given);",
        "std::unique_ptr<State> state(static_cast<State*>(given));",
    ],
)
def test_a_body_that_writes_or_may(body: str) -> None:
    assert access(body) is AccessMode.OPAQUE


def test_a_lambda_and_a_function_without_a_body() -> None:
    unit = read_text(HEAD + 'auto show = [](void* given) { std::printf("%d", *(int*)given); };\nvoid far(void* given);')
    (shown,) = [node for part in unit.declarations for node in nodes(part) if isinstance(node, Lambda)]
    assert given_access(shown, unit) is AccessMode.READ
    far = next(each for each in unit.declarations if isinstance(each, Function) and each.name == "far")
    assert given_access(far, unit) is AccessMode.OPAQUE


@pytest.mark.parametrize(
    ("body", "type"),
    [
        ("auto* state = static_cast<State*>(given); state->count = 2; state->values[1] = 2;", "State"),
        ("auto& state = *static_cast<State*>(given); state.count = 2;", "State"),
        ("((State*)given)->count = 2; static_cast<State*>(given)->ready = true;", "State"),
        ("*static_cast<int*>(given) += 1;", "int"),
        ("auto* states = static_cast<State*>(given); states[1].count = 2;", None),
        ("int* counts = (int*)given; *(counts + 1) = 2;", None),
        ("int* counts = (int*)given; for (int i = 0; i < 2; ++i) *counts++ = 2;", None),
        ("change(static_cast<State*>(given));", None),
        ("auto* state = static_cast<State*>(given); auto* next = state + 1; next->count = 2;", None),
        ("((State*)given)->count = 2; ((int*)given)[8] = 2;", None),
        ("unseen(given);", None),
        ("", None),
    ],
)
def test_how_much_of_what_is_given_a_body_touches(body: str, type: str | None) -> None:
    unit = read_text(HEAD + f"void called(void* given) {{ {body} }}\n")
    function = next(each for each in unit.declarations if isinstance(each, Function) and each.name == "called")
    found = given_object(function)
    assert (None if found is None else found.name) == type

"""Which variable takes what a call makes."""

from __future__ import annotations

import linecache

import pytest

from streamsan.python_program.call_text import PythonSources


def target(line: str, call: str) -> str:
    """Return the variable that takes the result of `call`, a part of `line`."""
    name = "<a program>"
    linecache.cache[name] = (len(line), None, [line + "\n"], name)
    try:
        start = line.index(call)
        return PythonSources().call(name, 1, start, 1, start + len(call)).target
    finally:
        del linecache.cache[name]


@pytest.mark.parametrize(
    ("line", "variable"),
    [
        ("err, p = rt.cudaMalloc(64)", "p"),
        ("p = check(rt.cudaMalloc(64))", "p"),
        ("self.p: int = check(rt.cudaMalloc(64))", "self.p"),
        ("p = rt.cudaMalloc(64)[1]", "p"),
        ("(p,) = check(rt.cudaMalloc(64))", "p"),
        ("(err, p), seconds = timed(rt.cudaMalloc(64))", "p"),
        ("p, q = check(rt.cudaMalloc(64)), check(other(1))", "p"),
        ("(err, p), q = rt.cudaMalloc(64), other(1)", "p"),
        ("err, *rest = rt.cudaMalloc(64)", ""),
        ("a, b, c = many(rt.cudaMalloc(64))", ""),
        ("(a, b), (c, d) = both(rt.cudaMalloc(64))", ""),
        ("a, *b = rt.cudaMalloc(64), 1, 2", ""),
        ("err, _ = rt.cudaMalloc(64)", ""),
    ],
)
def test_one_result(line: str, variable: str) -> None:
    assert target(line, "rt.cudaMalloc(64)") == variable


@pytest.mark.parametrize(
    ("line", "variable"),
    [
        ("img, pitch = check(rt.cudaMallocPitch(64, 8))", "img"),
        ("err, img, pitch = rt.cudaMallocPitch(64, 8)", "img"),
        ("err, (img, pitch) = split(rt.cudaMallocPitch(64, 8))", "img"),
        ("(err, img, pitch), x = rt.cudaMallocPitch(64, 8), 1", "img"),
        ("whole = rt.cudaMallocPitch(64, 8)", "whole"),
        ("(one,) = odd(rt.cudaMallocPitch(64, 8))", ""),
    ],
)
def test_two_results(line: str, variable: str) -> None:
    assert target(line, "rt.cudaMallocPitch(64, 8)") == variable


@pytest.mark.parametrize(
    ("line", "variable"),
    [
        ("p = allocate(64)", "p"),
        ("err, p = allocate(64)", "p"),
        ("status2, p = allocate(64)", "p"),
        ("p, pitch = allocate(64)", ""),
        ("err, p, pitch = allocate(64)", ""),
    ],
)
def test_functions_of_the_program(line: str, variable: str) -> None:
    assert target(line, "allocate(64)") == variable

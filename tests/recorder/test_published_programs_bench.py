"""The bench of published programs: which sources make up a program, and when two outputs are the same."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).resolve().parents[2] / "bench" / "published_programs.py"


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("published_programs", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_what_differs_between_plain_runs_is_not_compared(bench: ModuleType) -> None:
    expected = bench.steady("took 1.5 ms\nsum 7\n", "took 1.7 ms\nsum 7\n")
    assert expected == [None, "sum 7"]
    assert bench.compared(expected, "took 90 ms\nsum 7\n") == "same"
    assert bench.compared(expected, "took 90 ms\nsum 8\n") == "numbers"
    assert bench.compared(expected, "took 90 ms\nfailed\n") == "DIFFERENT"
    assert bench.compared(expected, "took 90 ms\nsum 7\none more\n") == "DIFFERENT"
    assert bench.compared(bench.steady("one\n", "one\ntwo\n"), "three\n") == "varies by itself"


def test_a_sign_or_a_hexadecimal_number_is_a_number(bench: ModuleType) -> None:
    assert bench.compared(["at 0x7f00, -3e-05"], "at 0x7e10, 2e-05") == "numbers"
    assert bench.compared(["PASSED"], "FAILED") == "DIFFERENT"


def test_a_source_that_another_includes_is_not_compiled_alone(bench: ModuleType, tmp_path: Path) -> None:
    place, headers = tmp_path / "sample", tmp_path / "common"
    place.mkdir()
    headers.mkdir()
    (place / "main.cu").write_text('#include "kernel.cu"\n#include <helper.h>\nint main() {}\n')
    (place / "kernel.cu").write_text("__global__ void k() {}\n")
    (place / "gold.cpp").write_text("void gold() {}\n")
    (headers / "helper.h").write_text("void helper();\n")
    (headers / "helper.cpp").write_text("void helper() {}\n")
    sources, _ = bench.sources_of(bench.Program("sample", place, headers=(headers,)))
    assert [path.name for path in sources] == ["gold.cpp", "main.cu", "helper.cpp"]


def test_only_errors_and_warnings_are_loud(bench: ModuleType, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text(
        '{"findings": [{"code": "SS109", "severity": "error", "location": {"file": "/a/b.cu", "line": 3}},'
        ' {"code": "SS504", "severity": "note", "location": null}]}'
    )
    assert bench.loud(report) == ["SS109 error b.cu:3"]
    assert bench.loud(tmp_path / "none.json") == ["no report"]


def test_a_checkout_of_another_name_is_refused_in_one_line(bench: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no table of this name"):
        list(bench.listed([tmp_path]))


def test_what_the_recorder_says_is_no_output_of_the_program(bench: ModuleType) -> None:
    assert bench._program_lines("one\nstreamsan: said\ntwo") == "one\ntwo"
    assert bench._program_lines("a line without endstreamsan: nothing recorded\n") == "a line without end"

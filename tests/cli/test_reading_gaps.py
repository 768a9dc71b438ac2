# ruff: noqa: E501 - programs under test stay as a person would type them
"""What was not read is on the line of counts and in JSON, and fails a check that is `--strict`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from streamsan.analysis.traces import check_trace
from streamsan.checking.selection import Selection
from streamsan.cli import main, sim
from streamsan.cli.edit_options import EditOptions
from streamsan.cli.report_options import ReportOptions
from streamsan.cli.sim_report import Reporter
from streamsan.cli.simulated import Ran, SimulatedProgram
from streamsan.cuda_source import Limits, explore
from streamsan.rules.every_rule import RULES
from streamsan.sim.options import SimulationOptions
from streamsan.trace.builder import TraceBuilder

HEAD = "#include <cuda_runtime.h>\n"
WHOLE = "int main() { cudaDeviceSynchronize(); }\n"
DEEP = "int main() { int x = " + "(" * 4000 + "1" + ")" * 4000 + "; cudaDeviceSynchronize(); }\n"
LONG = "int main() {" + "  cudaDeviceSynchronize();" * 80 + "}\n"
ODD = "@@ (x) { cudaDeviceSynchronize; }\n"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def counts(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return what the line of counts says of what was not read."""
    assert main(["check", "--exit-zero", *arguments]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    return last.partition("; ")[2]


def missed(capsys: pytest.CaptureFixture[str], text: str) -> list[int]:
    """Return the lines of the calls in a program that no path came to."""
    Path("a.cu").write_text(HEAD + text, encoding="utf-8")
    main(["check", "--exit-zero", "--format", "json", "a.cu"])
    places = json.loads(capsys.readouterr().out)["summary"]["unread"]["calls_not_reached"]
    return [place["line"] - 1 for place in places]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (WHOLE, ""),
        ("#include <gone/system.h>\n#include <vector>\n#include <cuda_fp16.h>\n" + WHOLE, ""),
        ('#include "gone.h"\n' + WHOLE, "1 include not found"),
        ('#include "gone.h"\n#include "gone_too.h"\n' + WHOLE, "2 includes not found"),
        (DEEP, "1 file stopped early"),
        (
            "void f() { if (0) cudaDeviceSynchronize(); }\n" + WHOLE,
            "1 of 2 CUDA calls were reached (1 on paths not taken)",
        ),
        (ODD, "1 file not understood"),
        ("#define F(n) void n() { cudaDeviceSynchronize(); }\nF(a, b)\n" + WHOLE, "1 macro not read"),
        ("#define F(n) void n() { cudaDeviceSynchronize(); }\nF(a)\n" + WHOLE, ""),
        (
            "#ifdef TUNED\nvoid f() { cudaDeviceReset(); }\n#else\nvoid f() { }\n#endif\n" + WHOLE,
            "1 of 2 CUDA calls were reached (1 in inactive #if)",
        ),
        (
            "void f() { cudaDeviceReset(); }\n#if USE_MPI\nvoid f() { cudaDeviceReset(); }\n#endif\n" + WHOLE,
            "2 of 3 CUDA calls were reached (1 in inactive #if)",
        ),
        ("#define F(n) __global__ void n() { }\nF(a)\nTEST(x, y) { }\nEXPORT int z;\n" + WHOLE, ""),
        ("struct Table { int (*run)(int); };\n", ""),
        ("enum class Kind { RED };\nconst int table[] = { 1, 2 };\n", ""),
    ],
    ids=lambda value: value[:30] if len(value) < 60 else None,
)
def test_the_line_of_counts_says_what_was_not_read(text, expected, capsys):
    Path("a.cu").write_text(HEAD + text, encoding="utf-8")
    assert counts(capsys, "a.cu") == expected


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("void unused(float* p) {\n cudaFree(p); }\nint main() { }\n", []),
        ("__global__ void k() {}\nvoid unused() {\n k<<<1, 1>>>(); }\nint main() { }\n", []),
        ("struct Unused { float* p;\n ~Unused() { cudaFree(p); } };\nint main() { }\n", []),
        ("int main() { return 0;\n cudaDeviceSynchronize(); }\n", [2]),
        ("#define FAST 0\nint main() {\n if (FAST) {\n cudaDeviceSynchronize(); } }\n", [4]),
        ("#if 0\nvoid off() { cudaDeviceSynchronize(); }\n#endif\nint main() { }\n", []),
        ("int main() { // cudaDeviceSynchronize();\n const char* s = \"cudaDeviceSynchronize()\"; }\n", []),
        ("int main(int n, char**) { if (n > 1) { cudaDeviceSynchronize(); } else { cudaDeviceReset(); } }\n", []),
        ("__global__ void k() {\n cudaDeviceSynchronize(); }\n__device__ void d() {\n cudaDeviceSynchronize(); }\nint main() { }\n", []),
        ("cudaError_t cudaFree(void*);\nint main() { }\n", []),
        ("#define DROP(x)\nint main() { DROP(cudaDeviceSynchronize()); sizeof(cudaDeviceSynchronize()); }\n", []),
        ("#define CHECK(x) do { if ((x) != cudaSuccess) { cudaDeviceReset(); exit(1); } } while (0)\nint main() { CHECK(cudaDeviceSynchronize()); }\n", []),
    ],
)  # fmt: skip
def test_calls_that_no_path_comes_to(text, lines, capsys):
    assert missed(capsys, text) == lines


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("struct Unused { float* p;\n void drop() { cudaFree(p); } };\nint main() { }\n", {}),
        ("#if defined(USE_MPI) && N > 2\nvoid f() { cudaFree(0);\n cudaFree(0); }\n#endif\nint main() { }\n", {2: "inactive #if defined(USE_MPI) && N > 2", 3: "inactive #if defined(USE_MPI) && N > 2"}),
        ("#define FAST\n#ifdef FAST\n#else\nvoid f() { cudaFree(0); }\n#endif\nint main() { }\n", {4: "inactive #else of #ifdef FAST"}),
        ("#ifdef A\n#ifdef B\n#elif C\nvoid f() { k<<<1, 1>>>(); }\n#endif\n#endif\nint main() { }\n", {4: "inactive #ifdef A"}),
        ("#ifdef A\ncudaError_t cudaFree(void*);\n// cudaFree(0)\nconst char* s = \"cudaFree(0)\";\n#endif\nint main() { }\n", {}),
        ("#ifdef _WIN32\nvoid f() { cudaFree(0); }\n#endif\n#if CUDART_VERSION < 5000\nvoid g() { cudaFree(0); }\n#endif\nint main() { }\n", {}),
        ("template <class F> void later(F f);\nint main() { later([&] {\n cudaFree(0); }); }\n", {3: "only code that is not visible may call this lambda"}),
        ("int main(int n, char**) { if (0) {\n cudaFree(0); } }\n", {2: "no path that was taken comes here"}),
        ("int main() { int x = " + "(" * 4000 + "cudaFree(0)" + ")" * 4000 + ";\n cudaDeviceSynchronize(); }\n", {1: "not parsed"}),
    ],
)  # fmt: skip
def test_each_call_that_was_not_reached_has_its_reason(text, reasons, capsys):
    Path("a.cu").write_text(HEAD + text, encoding="utf-8")
    main(["check", "--exit-zero", "--format", "json", "a.cu"])
    places = json.loads(capsys.readouterr().out)["summary"]["unread"]["calls_not_reached"]
    assert {place["line"] - 1: place["reason"] for place in places} == reasons


def test_what_an_if_leaves_out_does_not_fail_a_strict_check(capsys):
    Path("a.cu").write_text(HEAD + "#ifdef TUNED\nvoid f() { cudaFree(0); }\n#endif\n" + WHOLE, encoding="utf-8")
    assert main(["check", "a.cu", "--strict"]) == 0
    assert "1 of 2 CUDA calls were reached (1 in inactive #if)" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text",
    [
        "int main() { float* p; if (cudaMalloc(&p, 4) != cudaSuccess) { cudaDeviceReset(); return 1; } cudaFree(p); }\n",
        "int main() { float* p; cudaError_t e = cudaMalloc(&p, 4); if (e) { cudaDeviceReset(); return 1; } cudaFree(p); }\n",
        "void die() { cudaDeviceReset(); exit(1); }\nvoid gone() { die(); }\n"
        "int main() { cudaError_t e = cudaDeviceSynchronize(); if (e != cudaSuccess) gone(); }\n",
        "int main() { try { cudaDeviceSynchronize(); } catch (...) { cudaDeviceReset(); } }\n",
        "int main() { cudaError_t e = cudaDeviceSynchronize(); return e == cudaSuccess ? 0 : puts(cudaGetErrorString(e)); }\n",
    ],
)
def test_branches_of_failures_are_left_out_on_purpose(text, capsys):
    assert missed(capsys, text) == []


def test_what_one_source_reaches_was_read_whatever_the_others_do(capsys):
    Path("include").mkdir()
    Path("include/shared.h").write_text(
        "#pragma once\ninline void wait() { cudaDeviceSynchronize(); }\n", encoding="utf-8"
    )
    Path("a.cu").write_text(f'{HEAD}#include "include/shared.h"\nint main() {{ }}\n', encoding="utf-8")
    Path("b.cu").write_text(
        f'{HEAD}#include "../{Path.cwd().name}/include/shared.h"\nint main() {{ wait(); }}\n', encoding="utf-8"
    )
    assert counts(capsys, "a.cu") == "0 of 1 CUDA calls were reached (1 in functions that nothing calls)"
    assert counts(capsys, "a.cu", "b.cu") == ""
    assert counts(capsys, "b.cu", "a.cu") == ""


def test_looking_for_calls_finds_no_more_problems(capsys):
    """A body that no entry reaches is not judged: what it holds that nobody understands is no finding."""
    Path("a.cu").write_text(HEAD + "void unused() { cudaFree(0); @ $ ) ( ; }\n" + WHOLE, encoding="utf-8")
    main(["check", "a.cu", "--format", "json"])
    first = json.loads(capsys.readouterr().out)
    assert len(first["findings"]) <= 2


def test_strict_fails_with_a_line_that_names_places(capsys):
    Path("a.cu").write_text(
        '#include "gone.h"\nvoid f() { if (0)\n cudaDeviceSynchronize(); }\n' + WHOLE, encoding="utf-8"
    )
    assert main(["check", "a.cu", "--strict"]) == 2
    assert capsys.readouterr().err == (
        "streamsan: --strict: not everything was read: 1 include not found (a.cu:1), 1 CUDA call not reached (a.cu:3)\n"
    )
    assert main(["check", "a.cu", "--strict", "--exit-zero"]) == 2
    assert main(["check", "a.cu"]) == 0
    Path("a.cu").write_text(HEAD + WHOLE, encoding="utf-8")
    assert main(["check", "a.cu", "--strict"]) == 0


def test_a_budget_that_is_spent_counts(capsys, monkeypatch):
    monkeypatch.setattr(explore, "Limits", lambda: Limits(operations=70))
    Path("a.cu").write_text(HEAD + LONG, encoding="utf-8")
    found = counts(capsys, "a.cu")
    pattern = r"1 file stopped early, (\d+) of 80 CUDA calls were reached \((\d+) behind a spent budget\)"
    match = re.fullmatch(pattern, found)
    assert match is not None, found
    assert int(match[1]) + int(match[2]) == 80


@pytest.mark.parametrize(
    ("status", "whole", "strict", "failed"),
    [(0, True, True, False), (0, False, True, True), (-6, True, True, True), (0, False, False, False)],
)
def test_a_simulated_run_that_was_not_seen_whole_fails_a_strict_check(status, whole, strict, failed, capsys):
    trace = TraceBuilder("app.py", origin="simulation").finish()
    trace.complete = whole
    reporter = Reporter(ReportOptions(Selection.of((), (), (), RULES), strict=strict), "report.txt", False, None)
    program = SimulatedProgram("script", ["app.py"], SimulationOptions(), "")
    assert sim._reported(program, Ran(status, trace), reporter, EditOptions(), []) == (False, failed)
    line = "streamsan: --strict: not everything was read: 1 recording not whole (app.py)\n"
    assert capsys.readouterr().err.endswith(line) == failed
    assert ("1 recording not whole" in Path("report.txt").read_text(encoding="utf-8")) == (status != 0 or not whole)


def test_a_simulated_run_that_left_nothing_fails_a_strict_check(capsys):
    reporter = Reporter(ReportOptions(Selection.of((), (), (), RULES), strict=True), "report.txt", False, None)
    program = SimulatedProgram("script", ["app.py"], SimulationOptions(), "")
    assert sim._reported(program, Ran(0, None), reporter, EditOptions(), []) == (False, True)
    assert "1 recording not whole (app.py)" in capsys.readouterr().err


def test_a_recording_that_is_not_whole_counts():
    trace = TraceBuilder("program", origin="recording").finish()
    assert not check_trace(trace, "run.sst").unread
    trace.complete = False
    assert check_trace(trace, "run.sst").unread.summary == "1 recording not whole"


def test_json_names_the_places(capsys):
    Path("a.cu").write_text(
        '#include "gone.h"\nvoid f() { if (0)\n cudaDeviceSynchronize(); }\n' + WHOLE, encoding="utf-8"
    )
    main(["check", "a.cu", "--format", "json"])
    assert json.loads(capsys.readouterr().out)["summary"]["unread"] == {
        "includes_not_found": [{"file": "a.cu", "line": 1, "column": 1}],
        "macros_not_read": [],
        "files_stopped_early": [],
        "files_not_understood": [],
        "calls_reached": 1,
        "calls_not_reached": [{"file": "a.cu", "line": 3, "column": 2, "reason": "no path that was taken comes here"}],
        "recordings_not_whole": [],
        "sources_not_found": [],
        "inputs_not_checked": [],
    }

"""What bench/fixed_programs.py says of programs that were run before and after a fix. The programs here are scripts."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    path = Path(__file__).parents[2] / "bench" / "fixed_programs.py"
    specification = importlib.util.spec_from_file_location("bench_fixed_programs", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


def script(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)


def add_program(bench: ModuleType, folder: Path, before: str, after: str, left: list[str] | None = None) -> Any:
    name = f"program{len(list(folder.glob('wrong/*')))}"
    script(folder / "wrong" / name, before)
    if after:
        script(folder / "fixed" / name, after)
    return bench.Prepared(name, "SS102", "line 3: `free` moved", bool(after), left or [])


WRONG = "echo 'wrong words: 1048576'; exit 1"
RIGHT = "echo 'wrong words: 0'"


@pytest.mark.parametrize(
    ("before", "after", "left", "row", "status"),
    [
        (WRONG, RIGHT, [], "| 1,048,576 | 0 |", 0),
        ("echo 'error: cudaErrorIllegalAddress'; exit 1", RIGHT, [], "| cudaErrorIllegalAddress | 0 |", 0),
        (WRONG, "", [], "| 1,048,576 | no fix |", 0),
        (WRONG, WRONG, [], "| 1,048,576 | 1,048,576 |", 1),
        (WRONG, RIGHT, ["still SS109@7"], "| 1,048,576 | 0 (still SS109@7) |", 1),
        (WRONG, "kill -9 $$", [], "| 1,048,576 | status -9 |", 1),
        (WRONG, "echo 'wrong words: 0'; exit 3", [], "| 1,048,576 | 0 wrong words, status 3 |", 1),
    ],
)
def test_row_and_status(
    bench: ModuleType,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    before: str,
    after: str,
    left: list[str],
    row: str,
    status: int,
) -> None:
    program = add_program(bench, tmp_path, before, after, left)
    assert bench.compare([program], tmp_path, 2) == status
    output = capsys.readouterr().out
    assert row in output
    right = int(bool(after) and status == 0)
    assert output.endswith(f"{right} of 1 programs that computed wrong words compute right ones after the fix\n")


def test_a_program_that_is_now_and_then_right_does_not_count(
    bench: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    turns = f"if [ -e {tmp_path}/ran ]; then {RIGHT}; else touch {tmp_path}/ran; {WRONG}; fi"
    programs = [add_program(bench, tmp_path, turns, RIGHT), add_program(bench, tmp_path, WRONG, RIGHT)]
    assert bench.compare(programs, tmp_path, 2) == 0
    output = capsys.readouterr().out
    assert "| 1,048,576, 0 | 0 |" in output
    assert "1 of 2 programs compute wrong words, or fail, in each of 2 runs" in output
    assert "not wrong in each run: program0\n" in output
    assert "1 of 1 programs that computed wrong words" in output


def test_change_in_one_line(bench: ModuleType) -> None:
    before = "a();\nfree(p, s);  // expect: SS102\nb();\nwait();\nc();\n"
    after = "a();\nrecord(e, t);\n  wait(s, e);\nfree(p, t);  // expect: SS102\nb();\nc();\n"
    assert bench.change(before, after) == (
        "line 2: `free(p, s);` is now `record(e, t); wait(s, e); free(p, t);`; line 4 removed: `wait();`"
    )
    assert bench.change("a();\nb();\n", "a();\nx();\n  y();\nb();\n") == "before line 2: `x(); y();`"
    assert bench.change("a();\nfree(p);\nb(p);\nc(p);\nd();", "a();\nb(p);\nc(p);\nfree(p);\nd();") == (
        "line 2 moved before line 5: `free(p);`"
    )


def test_an_event_that_the_fix_makes_shows_only_as_its_record_and_its_wait(bench: ModuleType) -> None:
    block = ["  {", "    cudaEvent_t e;", "    CK(cudaEventCreate(&e));", "    CK(cudaEventRecord(e, a));"]
    block += ["    CK(cudaStreamWaitEvent(b, e, 0));", "    CK(cudaEventDestroy(e));", "  }"]
    after = "\n".join(["a();", *block, "b();"])
    expected = "before line 2: `CK(cudaEventRecord(e, a)); CK(cudaStreamWaitEvent(b, e, 0));`"
    assert bench.change("a();\nb();", after) == expected


def test_what_was_prepared_is_read_back(bench: ModuleType, tmp_path: Path) -> None:
    program = add_program(bench, tmp_path, WRONG, RIGHT)
    (tmp_path / bench.MANIFEST).write_text(json.dumps([bench.asdict(program)]), encoding="utf-8")
    options = bench.argparse.Namespace(names=[])
    assert bench.read_prepared(options, tmp_path) == [program]
    with pytest.raises(bench.CannotError, match=r"programs\.json: No such file"):
        bench.read_prepared(options, tmp_path / "elsewhere")


def test_without_a_compiler_it_says_so_in_one_line(
    bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["fixed_programs.py", "--prepare", str(tmp_path / "out")])
    assert bench.main() == 2
    output = capsys.readouterr()
    assert not output.out
    assert output.err.startswith("fixed_programs: no nvcc")
    assert output.err.count("\n") == 1

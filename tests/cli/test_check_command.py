from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import pytest

from streamsan import __version__
from streamsan.cli import main
from streamsan.cuda_syntax.compiler_options import CompilerOptions

RACE = """\
#include <cuda_runtime.h>
__global__ void scale(float* v) { v[threadIdx.x] *= 2.0f; }
int main() {
    cudaStream_t s1, s2;
    cudaStreamCreate(&s1);
    cudaStreamCreate(&s2);
    cudaEvent_t ready;
    cudaEventCreate(&ready);
    float* d_x;
    cudaMallocAsync(&d_x, 4096, s1);
    cudaEventRecord(ready, s1);
    cudaStreamWaitEvent(s2, ready, 0);
    scale<<<1, 32, 0, s2>>>(d_x);
    cudaFreeAsync(d_x, s1);
    cudaDeviceSynchronize();
    return 0;
}
"""
RIGHT = RACE.replace("cudaFreeAsync(d_x, s1)", "cudaFreeAsync(d_x, s2)")
LEAK = "#include <cuda_runtime.h>\nint main() {\n    float* p;\n    cudaMalloc(&p, 64);\n    return 0;\n}\n"
SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs" / "findings.schema.json").read_text(encoding="utf-8"))

Run = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("race.cu").write_text(RACE, encoding="utf-8")
    Path("right.cu").write_text(RIGHT, encoding="utf-8")


def run(capsys: Run, *arguments: str) -> tuple[int, str, str]:
    status = main(list(arguments))
    output = capsys.readouterr()
    assert "Traceback" not in output.err
    return status, output.out, output.err


def codes(capsys: Run, *arguments: str) -> list[str]:
    status, out, err = run(capsys, "check", *arguments, "--format", "json")
    assert (status in (0, 1), err) == (True, "")
    document = json.loads(out)
    jsonschema.validate(document, SCHEMA)
    return [finding["code"] for finding in document["findings"] if finding["severity"] != "note"]


def test_a_wrong_program_and_its_right_twin(capsys: Run) -> None:
    status, out, err = run(capsys, "check", "race.cu")
    assert (status, err) == (1, "")
    assert out.startswith("error[SS102]: kernel `scale` may still be ")
    assert "\n  --> race.cu:14:5\n" in out
    assert "14 |   cudaFreeAsync(d_x, s1);" in out
    assert "1 error, 0 warnings, " in out.splitlines()[-1]
    status, out, err = run(capsys, "check", "right.cu")
    assert (status, err) == (0, "")
    assert out.startswith("0 errors, 0 warnings, ")


def test_the_json_keeps_to_its_schema(capsys: Run) -> None:
    assert codes(capsys, "race.cu") == ["SS102"]
    assert codes(capsys, "right.cu") == []


def test_the_same_bytes_twice(capsys: Run) -> None:
    assert run(capsys, "check", "race.cu", "--format", "json") == run(capsys, "check", "race.cu", "--format", "json")


def test_select_ignore_and_exit_zero(capsys: Run) -> None:
    assert codes(capsys, "race.cu", "--select", "SS1") == ["SS102"]
    assert codes(capsys, "race.cu", "--select", "ss101, SS102") == ["SS102"]
    assert codes(capsys, "race.cu", "--select", "SS2") == []
    assert codes(capsys, "race.cu", "--ignore", "SS102") == []
    assert run(capsys, "check", "race.cu", "--select", "SS2")[0] == 0
    assert run(capsys, "check", "race.cu", "--exit-zero")[0] == 0


def test_notes_are_shown_on_request(capsys: Run) -> None:
    Path("leak.cu").write_text(LEAK, encoding="utf-8")
    status, out, _ = run(capsys, "check", "leak.cu")
    assert status == 0
    assert "SS401" not in out
    assert "1 note (--notes shows it)" in out
    assert "note[SS401]" in run(capsys, "check", "leak.cu", "--notes")[1]


def test_suppressions(capsys: Run) -> None:
    text = RACE.replace("cudaFreeAsync(d_x, s1);", "cudaFreeAsync(d_x, s1);  // streamsan: ignore[SS102,SS501] known")
    text = text.replace("return 0;", "return 0;  // streamsan: ignore")
    Path("known.cu").write_text(text, encoding="utf-8")
    status, out, err = run(capsys, "check", "known.cu")
    assert status == 0
    assert "1 suppressed" in out
    assert "unused suppression: SS501" in out
    assert "known.cu:16" in err
    assert "names no code" in err
    summary = json.loads(run(capsys, "check", "known.cu", "--format", "json")[1])["summary"]
    assert summary["suppressed"] == 1
    assert summary["unused_suppressions"] == [{"file": "known.cu", "line": 14, "codes": ["SS501"]}]


def test_a_file_of_suppressions(capsys: Run) -> None:
    Path("known.txt").write_text("# ours\nSS102 race.cu:14 function=main  known\nSS501 *.cu\nhm\n", encoding="utf-8")
    status, out, err = run(capsys, "check", "race.cu", "--suppressions", "known.txt")
    assert status == 0
    assert "1 suppressed" in out
    assert "note: known.txt:3: unused suppression: SS501" in out
    assert err.startswith("streamsan: known.txt:4: not a suppression")
    document = json.loads(run(capsys, "check", "race.cu", "--suppressions", "known.txt", "--format", "json")[1])
    jsonschema.validate(document, SCHEMA)
    assert document["summary"]["suppressed"] == 1
    assert document["summary"]["unused_suppressions"] == [{"file": "known.txt", "line": 3, "codes": ["SS501"]}]


def test_both_kinds_of_suppression_count_as_used(capsys: Run) -> None:
    text = RACE.replace("cudaFreeAsync(d_x, s1);", "cudaFreeAsync(d_x, s1);  // streamsan: ignore[SS102] known")
    Path("known.cu").write_text(text, encoding="utf-8")
    Path("known.txt").write_text("SS102 known.cu known\n", encoding="utf-8")
    status, out, err = run(capsys, "check", "known.cu", "--suppressions", "known.txt")
    assert (status, err) == (0, "")
    assert "1 suppressed" in out
    assert "unused" not in out


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "no such file or directory"),
        (b"SS999 a.cu\n", "known.txt:1: unknown code 'SS999'"),
        (b"SS102 a.cu \xff\n", "not UTF-8 text"),
    ],
)
def test_a_file_of_suppressions_that_cannot_be_used(capsys: Run, text: bytes | None, reason: str) -> None:
    if text is not None:
        Path("known.txt").write_bytes(text)
    status, out, err = run(capsys, "check", "race.cu", "--suppressions", "known.txt")
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("streamsan: --suppressions: known.txt")
    assert reason in err


def test_a_folder_is_walked_in_order_without_hidden_and_build_folders(capsys: Run) -> None:
    for folder in ("src/b", "src/a", "src/.git", "src/build", "src/CMakeFiles"):
        Path(folder).mkdir(parents=True)
        Path(folder, "x.cu").write_text(RACE, encoding="utf-8")
    status, out, err = run(capsys, "check", "src")
    assert (status, err) == (1, "")
    assert [line for line in out.splitlines() if "-->" in line] == [
        "  --> src/a/x.cu:14:5",
        "  --> src/b/x.cu:14:5",
    ]


def test_a_header_is_checked_once(capsys: Run) -> None:
    Path("src").mkdir()
    Path("src/free.cuh").write_text(RACE.replace("int main", "inline int step"), encoding="utf-8")
    for name in ("one.cu", "two.cu"):
        Path("src", name).write_text('#include "free.cuh"\nint main() { return step(); }\n', encoding="utf-8")
    Path("src/lonely.h").write_text(RACE.replace("int main", "inline int lonely"), encoding="utf-8")
    status, out, _ = run(capsys, "check", "src")
    assert status == 1
    assert [line.strip() for line in out.splitlines() if "-->" in line] == [
        "--> src/free.cuh:14:5",
        "--> src/lonely.h:14:5",
    ]
    assert "in 3 files" in out


def test_macros_and_include_folders(capsys: Run) -> None:
    Path("include").mkdir()
    Path("include/pick.h").write_text(
        "#ifdef RIGHT\n#define WHERE s2\n#else\n#define WHERE s1\n#endif\n", encoding="utf-8"
    )
    text = RACE.replace("#include <cuda_runtime.h>", '#include <cuda_runtime.h>\n#include "pick.h"')
    Path("pick.cu").write_text(text.replace("(d_x, s1)", "(d_x, WHERE)"), encoding="utf-8")
    assert codes(capsys, "pick.cu", "-I", "include") == ["SS102"]
    assert codes(capsys, "pick.cu", "-I", "include", "-D", "RIGHT") == []
    assert codes(capsys, "pick.cu", "-I", "include", "-DRIGHT=1") == []


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("elf.cu", b"\x7fELF\x02\x01", "binary file (ELF), not source"),
        ("nul.cu", b"int main() {\0}", "binary file, not source"),
        ("notes.txt", b"text", "unknown kind of file"),
        ("none", b"text", "unknown kind of file"),
        ("empty.sst", b"", "empty file, not a trace"),
        ("foreign.sst", b"PK\x03\x04 something else", ""),
    ],
)
def test_what_cannot_be_read_is_named_and_the_rest_checked(capsys: Run, name: str, content: bytes, reason: str) -> None:
    Path(name).write_bytes(content)
    status, out, err = run(capsys, "check", name, "race.cu")
    assert status == 2
    (line,) = err.splitlines()
    assert line.startswith(f"streamsan: {name}: ")
    assert reason in line
    assert "error[SS102]" in out


def test_missing_files_and_folders_without_sources(capsys: Run) -> None:
    Path("nothing").mkdir()
    os.mkfifo("pipe.cu")
    status, out, err = run(capsys, "check", "missing.cu", "nothing", "pipe.cu")
    assert (status, out) == (2, "")
    assert sorted(err.splitlines()) == [
        "streamsan: missing.cu: no such file or directory",
        "streamsan: nothing: no sources or traces in this folder",
        "streamsan: pipe.cu: not a regular file",
    ]


def test_permission_denied(capsys: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: str, mode: str = "r") -> object:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    # Root may read everything, so the file's mode alone would not do.
    monkeypatch.setattr("streamsan.analysis.source_files.open", denied, raising=False)
    status, _, err = run(capsys, "check", "race.cu")
    assert (status, err) == (2, "streamsan: race.cu: permission denied\n")


def test_empty_sources_are_no_error(capsys: Run) -> None:
    Path("empty.cu").write_text("\n", encoding="utf-8")
    status, _, err = run(capsys, "check", "empty.cu")
    assert (status, err) == (0, "streamsan: empty.cu: empty file, nothing to check\n")


def test_invalid_utf_8_is_checked_and_said(capsys: Run) -> None:
    Path("latin.cu").write_bytes(RACE.replace("int main", "// \u00e9\nint main").encode("latin-1"))
    status, out, err = run(capsys, "check", "latin.cu", "--notes")
    assert (status, err) == (1, "")
    assert "error[SS102]" in out
    assert "note[SS603]: not understood: not UTF-8" in out


def test_a_defect_takes_no_other_input_with_it(capsys: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from streamsan import cuda_source

    read = cuda_source.read_program

    def broken(files: Sequence[tuple[Path, CompilerOptions]], **contents: object) -> object:
        if "right" in str(files[0][0]):
            raise IndexError("list index out of range")
        return read(files, **contents)  # type: ignore[arg-type]

    monkeypatch.setattr(cuda_source, "read_program", broken)
    status, out, err = run(capsys, "check", "right.cu", "race.cu")
    assert status == 2
    assert err.startswith("streamsan: right.cu: not checked: internal error, please report it: IndexError: list index")
    assert "error[SS102]" in out
    monkeypatch.setenv("STREAMSAN_DEBUG", "1")
    with pytest.raises(IndexError):
        main(["check", "right.cu"])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["check", "race.cu", "--select", "SS9"], "--select: unknown code 'SS9'"),
        (["check", "race.cu", "--ignore", "SS102,"], "--ignore: unknown code ''"),
        (["check", "race.cu", "--bogus"], "'--bogus'"),
        (["check", "race.cu", "--format", "xml"], "'xml'"),
        (["check", "race.cu", "-D", "1x"], "'1x'"),
        (["chekc"], "'chekc'"),
        (["rule", "SS999"], "unknown code 'SS999'"),
    ],
)
def test_bad_usage_is_one_line(capsys: Run, arguments: list[str], reason: str) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith("streamsan: ")
    assert reason in line


def test_help_and_version(capsys: Run) -> None:
    for arguments in (["--help"], ["check", "--help"], ["rule", "--help"]):
        status, out, err = run(capsys, *arguments)
        assert (status, err) == (0, "")
        assert "Examples:\n    streamsan " in out
    assert run(capsys, "--version") == (0, f"streamsan {__version__}\n", "")
    status, out, err = run(capsys)
    assert (status, out) == (2, "")
    assert "Usage:" in err


def test_rules_are_listed(capsys: Run) -> None:
    status, out, _ = run(capsys, "rule")
    assert status == 0
    assert "SS102  use-races-free " in out
    assert run(capsys, "rule", "ss102")[1].startswith("# SS102 use-races-free\n")


def test_facts_are_explained(capsys: Run) -> None:
    status, out, _ = run(capsys, "rule", "f-05")
    assert (status, out.splitlines()[0]) == (0, "# F-05: Free (F)")
    assert "- observed: the same address; every word wrong" in out
    assert run(capsys, "rule", "F-99")[0] == 2


def test_ctrl_c_ends_quietly(capsys: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from streamsan import cuda_source

    def interrupted(*options: object, **contents: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(cuda_source, "read_program", interrupted)
    assert run(capsys, "check", "race.cu") == (130, "", "\nstreamsan: interrupted\n")


def test_a_reader_who_leaves_changes_no_status() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "streamsan", "check", "race.cu"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr as stderr:
        assert stderr.read() == b""
    assert process.wait() == 1


def test_no_fixes_seeks_none(tmp_path: Path, capsys: Run) -> None:
    source = tmp_path / "race.cu"
    source.write_text(RACE)
    assert main(["check", "--no-fixes", str(source)]) == 1
    assert "(it was not tried out)" in capsys.readouterr().out
    assert main(["check", "--no-fixes", "--diff", str(source)]) == 2
    assert "--no-fixes" in capsys.readouterr().err

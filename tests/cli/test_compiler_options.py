"""Macros, folders and forced includes of the command line: what a compiler makes of them."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

import streamsan
from streamsan.cli import main

HEAD = "#include <cuda_runtime.h>\n"
TWICE = "inline void twice(void* p) { cudaFree(p);\n cudaFree(p); }\n"
PROGRAM = (
    HEAD + "int main() { void* p; cudaMalloc(&p, 4);\n#ifdef TWICE\n cudaFree(p);\n#endif\n cudaFree(p); return 0; }\n"
)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")


def places(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """Return the file, line and code of what is found."""
    main(["check", "--format", "concise", "--select", "SS2", *arguments])
    lines = capsys.readouterr().out.splitlines()
    return [":".join(line.split(":")[:2]) + " " + line.partition("[")[2][:5] for line in lines if "[" in line]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ([], []),
        (["-DTWICE"], ["a.cu:6 SS201"]),
        (["-DTWICE", "-UTWICE"], []),
        (["-UTWICE", "-D", "TWICE=1"], ["a.cu:6 SS201"]),
        (["-D", "TWICE", "--undefine", "TWICE", "--define", "TWICE"], ["a.cu:6 SS201"]),
    ],
    ids=" ".join,
)
def test_the_last_word_on_a_macro_counts(options, found, capsys):
    write({"a.cu": PROGRAM})
    assert places(capsys, "a.cu", *options) == found


def test_a_builtin_macro_can_be_taken_away(capsys):
    write({"a.cu": PROGRAM.replace("ifdef TWICE", "ifndef __CUDACC__")})
    assert places(capsys, "a.cu") == []
    assert places(capsys, "a.cu", "-U", "__CUDACC__") == ["a.cu:6 SS201"]


def test_macros_have_values_and_parameters_in_code(capsys):
    """Their texts stand in the code, not in conditions only."""
    text = (
        HEAD + "int main() { void* p; cudaMalloc(&p, 4);\n for (int i = 0; i < TIMES; ++i) RELEASE(p);\n return 0; }\n"
    )
    write({"a.cu": text})
    assert places(capsys, "a.cu", "-DTIMES=1", "-DRELEASE(x)=cudaFree(x)") == []
    assert places(capsys, "a.cu", "-DTIMES=2", "-DRELEASE(x)=cudaFree(x)") == ["a.cu:3 SS201"]


def test_folders_are_searched_in_the_order_of_a_compiler(capsys):
    one, two = "#define TWICE\n", "\n"
    write({"a.cu": '#include "x.h"\n' + PROGRAM, "i/x.h": one, "q/x.h": two, "s/x.h": two})
    assert places(capsys, "a.cu", "-I", "i", "-isystem", "s") == ["a.cu:7 SS201"]
    assert places(capsys, "a.cu", "-isystem", "s", "-I", "i") == ["a.cu:7 SS201"]
    assert places(capsys, "a.cu", "-I", "i", "-iquote", "q") == []
    # What `-isystem` names, too, is a system's folder.
    assert places(capsys, "a.cu", "-I", "i", "-isystem", "s", "-isystem", "i") == []
    # `-iquote` is for names in quotes.
    write({"a.cu": "#include <x.h>\n" + PROGRAM})
    assert places(capsys, "a.cu", "-iquote", "q", "-I", "i") == ["a.cu:7 SS201"]


def test_the_folder_of_the_source_comes_first_for_names_in_quotes_only(capsys):
    write({"src/a.cu": '#include "x.h"\n' + PROGRAM, "src/x.h": "#define TWICE\n", "i/x.h": "\n"})
    assert places(capsys, "src/a.cu", "-I", "i") == ["src/a.cu:7 SS201"]
    write({"src/a.cu": "#include <x.h>\n" + PROGRAM})
    assert places(capsys, "src/a.cu", "-I", "i") == []
    assert places(capsys, "src/a.cu") == ["src/a.cu:7 SS201"]


def test_what_stands_in_a_system_header_is_read_and_not_reported(capsys):
    user = HEAD + "#include <lib/twice.h>\nint main() { void* p; cudaMalloc(&p, 4); twice(p); return 0; }\n"
    write({"a.cu": user, "third/lib/twice.h": '#include "impl.h"\n', "third/lib/impl.h": TWICE})
    assert places(capsys, "a.cu", "-I", "third") == ["third/lib/impl.h:2 SS201"]
    assert places(capsys, "a.cu", "-isystem", "third") == []
    # The mistake is the user's where the header only frees.
    once = TWICE.replace("\n cudaFree(p);", "")
    write({"a.cu": user.replace("twice(p);", "twice(p);\n cudaFree(p);"), "third/lib/impl.h": once})
    assert places(capsys, "a.cu", "-isystem", "third") == ["a.cu:4 SS201"]


def test_a_header_that_is_a_systems_for_one_source_and_not_for_another_is_reported(capsys):
    """What the one does not report, the other does: nothing is lost in a check of both."""
    user = HEAD + '#include "twice.h"\nint main() { void* p; cudaMalloc(&p, 4); twice(p); return 0; }\n'
    write({"a.cu": user.replace('"twice.h"', "<twice.h>"), "own/b.cu": user, "own/twice.h": TWICE})
    assert places(capsys, "a.cu", "-isystem", "own") == []
    assert places(capsys, "a.cu", "own/b.cu", "-isystem", "own") == ["own/twice.h:2 SS201"]


def test_gaps_of_system_headers_are_nobodys(capsys):
    write(
        {
            "a.cu": HEAD + "#include <lib.h>\nint main() { cudaDeviceSynchronize(); }\n",
            "third/lib.h": '#include "gone.h"\ninline void unused() { cudaDeviceSynchronize(); }\n',
        }
    )
    assert main(["check", "a.cu", "-I", "third", "--strict"]) == 2
    assert "1 include not found (third/lib.h:1), 1 CUDA call not reached (third/lib.h:2)" in capsys.readouterr().err
    assert main(["check", "a.cu", "-isystem", "third", "--strict"]) == 0


def test_headers_of_a_toolkit_are_known_without_reading(capsys):
    """A build names the toolkit's folder; what stands there would be taken for the user's."""
    wrong = "#define TWICE\n"
    write({f"cuda/include/{name}": wrong for name in ("cuda_runtime_api.h", "driver_types.h", "cuda_runtime.h", "x.h")})
    write({"a.cu": '#include <x.h>\n#include "cuda_runtime.h"\n' + PROGRAM})
    assert places(capsys, "a.cu", "-I", "cuda/include", "--strict") == []
    assert places(capsys, "a.cu", "-isystem", "cuda/include") == []
    Path("cuda/include/driver_types.h").unlink()
    assert places(capsys, "a.cu", "-I", "cuda/include") == ["a.cu:8 SS201"]


def test_a_forced_include_is_read_before_the_source(capsys):
    write({"a.cu": PROGRAM, "on.h": '#include "deep.h"\n', "deep.h": "#define TWICE\n", "inc/off.h": "#undef TWICE\n"})
    assert places(capsys, "a.cu", "-include", "on.h") == ["a.cu:6 SS201"]
    # Behind all macros of the command line, in the order given; sought where quoted names are, too.
    assert places(capsys, "a.cu", "-include", "on.h", "-UTWICE") == ["a.cu:6 SS201"]
    assert places(capsys, "a.cu", "-include", "on.h", "-include", "off.h", "-I", "inc") == []
    write({"f.h": HEAD + "inline void drop(void* p) { cudaFree(p); }\n"})
    write({"b.cu": "int main() { void* p; cudaMalloc(&p, 4); drop(p);\n drop(p); return 0; }\n"})
    assert places(capsys, "b.cu", "-include", "f.h") == ["f.h:2 SS201"]


def test_a_plain_source_has_to_do_with_a_device_by_its_forced_include(capsys):
    write({"src/a.cpp": "int main() { return 0; }\n", "cuda.inc.h": HEAD})
    assert main(["check", "src"]) == 0
    assert "1 file without a word of CUDA" in capsys.readouterr().out
    assert main(["check", "src", "-include", "cuda.inc.h"]) == 0
    assert "in 1 file," in capsys.readouterr().out


def test_a_file_of_options_and_python_have_them_too(capsys):
    write(
        {
            "a.cu": "#include <x.h>\n" + PROGRAM,
            "i/x.h": "\n",
            "s/x.h": TWICE,
            "on.h": "#define TWICE\n",
            "streamsan.toml": 'system-include-dirs = ["s"]\nforced-includes = ["on.h"]\nquote-include-dirs = "i"\n',
        }
    )
    assert places(capsys, "a.cu") == ["a.cu:7 SS201"]
    Path("streamsan.toml").write_text('define = ["TWICE"]\nundefine = ["TWICE"]\nno-fixes = true\n', encoding="utf-8")
    assert places(capsys, "a.cu") == []
    assert places(capsys, "a.cu", "-DTWICE", "-UOTHER") == ["a.cu:7 SS201"]

    def found(**options: object) -> list[str]:
        report = streamsan.check("a.cu", select=["SS2"], **options)  # type: ignore[arg-type]
        return [finding.location.file for finding in report.findings]

    assert found() == []
    assert found(defines={"TWICE": "1"}) == ["a.cu"]
    assert found(defines={"TWICE": "1"}, undefines=["TWICE"]) == []
    assert found(forced_includes=["on.h"], system_include_dirs=[Path("s")], quote_include_dirs=["i"]) == ["a.cu"]


def test_no_fixes_and_source_roots_of_a_project(capsys):
    twice = "  cudaDeviceSynchronize();\n" * 2
    write({"a.cu": f"{HEAD}int main() {{\n{twice}}}\n", "here/x.cu": ""})
    assert main(["check", "a.cu", "--notes"]) == 0
    assert "fix (verified" in capsys.readouterr().out
    write({"streamsan.toml": 'no-fixes = true\nsource-root = ["/old=here", "here"]\n'})
    assert main(["check", "a.cu", "--notes"]) == 0
    assert "fix (verified" not in capsys.readouterr().out
    write({"streamsan.toml": 'source-root = ["/old=../here"]\n'})
    assert main(["check", "a.cu"]) == 2
    assert "outside the file's folder" in capsys.readouterr().err


def given(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_a_source_on_standard_input(capsys, monkeypatch):
    given(monkeypatch, PROGRAM)
    assert places(capsys, "-", "-DTWICE") == ["<stdin>:6 SS201"]
    write({"src/a.cu": HEAD, "src/on.h": "#define TWICE\n"})
    given(monkeypatch, '#include "on.h"\n' + PROGRAM)
    assert places(capsys, "-", "--stdin-name", "src/a.cu") == ["src/a.cu:7 SS201"]
    given(monkeypatch, "")
    assert main(["check", "-"]) == 0
    assert "<stdin>: empty file, nothing to check" in capsys.readouterr().err


def test_standard_input_is_mended_by_a_patch(capsysbinary, monkeypatch):
    text = (
        HEAD + "int main() {\n  cudaStream_t s;\n  cudaStreamCreate(&s);\n  float* p;\n  cudaMallocAsync(&p, 4, s);\n"
        "  cudaMemsetAsync(p, 0, 4, s);\n  cudaStreamSynchronize(s);\n  cudaStreamSynchronize(s);\n"
        "  cudaFreeAsync(p, s);\n  cudaStreamDestroy(s);\n  return 0;\n}\n"
    )
    write({"src/a.cu": HEAD})
    given(monkeypatch, text)
    assert main(["check", "-", "--stdin-name", "src/a.cu", "--diff", "--select", "SS504"]) == 1
    patch = capsysbinary.readouterr().out
    assert patch.startswith(b"--- a/src/a.cu\n")
    assert Path("src/a.cu").read_text(encoding="utf-8") == HEAD
    write({"src/a.cu": text})
    done = subprocess.run(["patch", "-p1", "--dry-run"], input=patch, capture_output=True)
    assert done.returncode == 0, done


def test_a_closed_standard_input_is_one_line(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["check", "-"]) == 2
    assert capsys.readouterr().err == "streamsan: standard input: closed\n"

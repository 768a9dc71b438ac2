"""`check -p BUILD`: each source as its entry of a compile_commands.json compiles it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

import streamsan
from streamsan.checking.compile_commands.choice import CompileCommands
from streamsan.checking.compile_commands.database import shown_path
from streamsan.checking.compile_commands.flags import Flags
from streamsan.cli import main
from streamsan.cuda_syntax.compiler_options import CompilerOptions

HEAD = "#include <cuda_runtime.h>\n"
PROGRAM = (
    HEAD + "int main() { void* p; cudaMalloc(&p, 4);\n#ifdef TWICE\n cudaFree(p);\n#endif\n cudaFree(p); return 0; }\n"
)
WRONG = ["a.cu:6 SS201"]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")


def build(*entries: tuple[str, str | list[str]], folder: str = "build") -> None:
    """Write the entries of sources: their command, or its words."""
    Path("build").mkdir(exist_ok=True)
    document = [
        {
            "directory": str(Path.cwd() / folder),
            "file": file if os.path.isabs(file) else str(Path.cwd() / file),
            ("command" if isinstance(command, str) else "arguments"): command,
        }
        for file, command in entries
    ]
    write({"build/compile_commands.json": json.dumps(document)})


def places(capsys: pytest.CaptureFixture[str], *arguments: str, codes: str = "SS2") -> list[str]:
    """Return the file, line and code of what is found."""
    main(["check", "--format", "concise", "--select", codes, *arguments])
    lines = capsys.readouterr().out.splitlines()
    return [":".join(line.split(":")[:2]) + " " + line.partition("[")[2][:5] for line in lines if "[" in line]


def options(command: str | list[str], suffix: str = ".cu") -> CompilerOptions:
    words = command.split() if isinstance(command, str) else command
    return Flags.of(words, str(Path.cwd() / "build")).options(suffix)


# -- what a command line says -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "macros"),
    [
        ("nvcc -DA -D B=2 -UC --define-macro=D=4 --define-macro E -c x.cu", "A=1 B=2 -C D=4 E=1"),
        ("nvcc -DA -UA -DB -UB -DB=3 x.cu", "-A B=3"),
        ("nvcc -DA=1,B=2 -DC=1\\,2 --undefine-macro=X,Y x.cu", "A=1 B=2 C=1,2 -X -Y"),
        ("clang++ -x cuda -DA=1,B=2 x.cu", "A=1,B=2"),
        ("/usr/bin/ccache /opt/cuda/bin/nvcc-13.0 -DA=1,B x.cu", "A=1 B=1"),
        ("nvcc -Xcompiler=-fPIC,-DA=2 -Xcompiler -DB --compiler-options -DC,-UD x.cu", "A=2 B=1 C=1 -D"),
        ("nvcc -std=c++20 --default-stream per-thread --extended-lambda -dc x.cu", "__cplusplus=202002L "
         "CUDA_API_PER_THREAD_DEFAULT_STREAM=1 __CUDACC_EXTENDED_LAMBDA__=1 __CUDACC_RDC__=1"),
        ("nvcc --std c++14 -default-stream=legacy x.cu", "__cplusplus=201402L"),
        ("nvcc -Xptxas -DA -o -DB -MF -DC x.cu", ""),
        ("g++ -Wp,-DA,-DB=2 -fopenmp -std=gnu++23 x.cu", "A=1 B=2 _OPENMP=201511 __cplusplus=202302L"),
        ("clang++ -Xclang -DA -Xclang -include-pch -Xclang x.pch x.cu", "A=1"),
        ("nvcc -D", ""),
    ],
)  # fmt: skip
def test_macros_of_a_command_line(command, macros):
    found = [f"{name}={text}" if text is not None else f"-{name}" for name, text in options(command).macros]
    assert found == macros.split()


@pytest.mark.parametrize(
    ("command", "suffix", "gone"),
    [
        ("nvcc -c x.cu", ".cu", ""),
        ("nvcc -x cu -c x.cpp", ".cpp", ""),
        ("clang++ -xcuda -c x.cpp", ".cpp", ""),
        ("nvcc -c x.cpp", ".cpp", "__CUDACC__"),
        ("nvcc -x c++ -c x.cu", ".cu", "__CUDACC__"),
        ("g++ -c x.cpp", ".cpp", "__CUDACC_VER_MAJOR__ __CUDACC_VER_MINOR__ __CUDACC__ __NVCC__"),
        ("cc -c x.c", ".c", "__CUDACC_VER_MAJOR__ __CUDACC_VER_MINOR__ __CUDACC__ __NVCC__ __cplusplus"),
        ("g++ -D__CUDACC__ -D__NVCC__ -c x.cpp", ".cpp", "__CUDACC_VER_MAJOR__ __CUDACC_VER_MINOR__"),
        ("nvcc -xHost x.cu", ".cu", ""),
    ],
)
def test_the_language_of_a_source(command, suffix, gone):
    assert " ".join(sorted(options(command, suffix).undefined)) == gone


def test_folders_and_files_are_those_where_the_compiler_runs(tmp_path):
    write({"inc/on.h": "", "build/gen/here.h": ""})
    found = options(
        f"nvcc -I../inc -I /opt/x -I={tmp_path}/a -isystem=../s,/t -isystem ../u -idirafter ../v -iquote../q "
        "--include-path=../w --system-include ../y -include ../inc/on.h --pre-include gen/here.h,far.h x.cu"
    )
    assert [str(folder) for folder in found.include_dirs] == ["inc", "/opt/x", "a", "w"]
    assert [str(folder) for folder in found.system_dirs] == ["s", "/t", "u", "v", "y"]
    assert [str(folder) for folder in found.quote_dirs] == ["q"]
    assert found.forced_includes == ("inc/on.h", "build/gen/here.h", "far.h")


def test_paths_behind_links_stay_where_they_lead(tmp_path):
    write({"deep/er/x.h": ""})
    Path("build").mkdir()
    Path("build/link").symlink_to(tmp_path / "deep/er")
    assert shown_path(str(tmp_path / "build"), "link/../other") == f"{tmp_path}/build/link/../other"
    assert shown_path(str(tmp_path / "build"), "../inc/./x") == "inc/x"
    assert shown_path(str(tmp_path), "") == "."


def test_response_files_are_read_wherever_they_stand():
    write(
        {
            "build/inc.rsp": '-I../inc "-I../with space" -isystem=../s',
            "build/deep.rsp": "-DB @inc.rsp",
            "build/b.rsp": '--options-file deep.rsp\n-DC="a b"',
        }
    )
    found = options("nvcc -DA --options-file b.rsp x.cu")
    assert [name for name, _ in found.macros] == ["A", "B", "C"]
    assert [str(folder) for folder in found.include_dirs] == ["inc", "with space"]
    assert options("nvcc -optf inc.rsp,b.rsp x.cu").include_dirs == found.include_dirs
    assert options("g++ @deep.rsp x.cu").macros == (("B", "1"),)


@pytest.mark.parametrize(
    ("files", "command", "reason"),
    [
        ({}, "nvcc --options-file gone.rsp x.cu", "gone.rsp: no such file or directory"),
        ({"build/a.rsp": "@a.rsp"}, "g++ @a.rsp", "without end"),
        ({"build/a.rsp": "'-DX"}, "g++ @a.rsp", "a.rsp: no closing quotation"),
        ({"build/a.rsp": "-DX " * 100_001}, "g++ @a.rsp", "more than 100000 words"),
        ({"build/a.rsp": "-DX " * 300_000}, "g++ @a.rsp", "too large"),
        ({}, "g++ @/dev/zero", "not a regular file"),
    ],
)
def test_response_files_are_bounded(files, command, reason):
    Path("build").mkdir()
    write(files)
    with pytest.raises(ValueError, match=reason):
        options(command)


# -- which sources, each with its options -------------------------------------------------------


def test_each_source_has_its_own_options(capsys):
    write(dict.fromkeys(("a.cu", "b.cu"), PROGRAM) | {"CMakeLists.txt": ""})
    build(("a.cu", "nvcc -DTWICE -c a.cu"), ("b.cu", ["nvcc", "-c", "b.cu"]))
    assert places(capsys, "-p", "build") == WRONG
    assert places(capsys, "-p", "build/compile_commands.json", "b.cu") == []
    assert places(capsys, "-p", "build", ".") == WRONG
    # What the command line says comes behind.
    assert places(capsys, "-p", "build", "-DTWICE") == [*WRONG, "b.cu:6 SS201"]
    assert places(capsys, "-p", "build", "-UTWICE") == []


def test_all_sources_of_this_folder_are_checked_as_those_of_folders_are(capsys, monkeypatch):
    plain = "int f() { return 1; }\n"
    names = ("a.cu", "plain.cpp", "build/gen.cu", ".hidden/x.cu", "out/ignored.cu", "left/b.cu", "x.s")
    write({name: plain if name == "plain.cpp" else PROGRAM for name in names})
    write({".gitignore": "out\n", "sub/c.cu": PROGRAM})
    Path(".git").mkdir()
    every = [*names, "sub/c.cu", "/elsewhere/y.cu"]
    build(*((name, "nvcc -DTWICE") for name in every))
    assert places(capsys, "-p", "build", "--exclude", "left") == [*WRONG, "sub/c.cu:6 SS201"]
    main(["check", "-p", "build"])
    assert "(1 file without a word of CUDA or OpenCL was left out)" in capsys.readouterr().out
    monkeypatch.chdir("sub")
    assert places(capsys, "-p", "../build") == ["c.cu:6 SS201"]


def test_a_header_has_the_options_of_the_nearest_source_and_nobody_says_so(capsys):
    header = "#ifdef TWICE\ninline void f() { void* p; cudaMalloc(&p, 4); cudaFree(p);\n cudaFree(p); }\n#endif\n"
    write({"one/x.h": header, "two/deep/y.h": header, "two/z.cu": HEAD, "one/w.cu": HEAD, "inc/z.h": header})
    build(("one/w.cu", "nvcc"), ("two/z.cu", "nvcc -DTWICE"))
    assert places(capsys, "-p", "build", "one/x.h") == []
    assert places(capsys, "-p", "build", "two/deep/y.h") == ["two/deep/y.h:3 SS201"]
    assert places(capsys, "-p", "build", "inc/z.h") == ["inc/z.h:3 SS201"]  # the same stem
    main(["check", "-p", "build", "one/x.h", "--notes"])
    captured = capsys.readouterr()
    assert "entry" not in captured.out + captured.err


def test_sources_without_an_entry_are_counted(capsys):
    write(dict.fromkeys(("a.cu", "b.cu", "c.cu"), PROGRAM))
    build(("a.cu", "nvcc -DTWICE"))
    assert places(capsys, "-p", "build", ".") == [*WRONG, "b.cu:6 SS201", "c.cu:6 SS201"]
    main(["check", "-p", "build", "."])
    assert "(2 sources have no entry in build/compile_commands.json, and the options of the nearest one)" in (
        capsys.readouterr().out
    )
    main(["check", "-p", "build", "a.cu", "b.cu"])
    assert "(1 source has no entry in " in capsys.readouterr().out


def test_a_source_of_two_programs_is_checked_in_both_ways(capsys):
    """What one of them does wrong is wrong; a wait that one of them needs is needed."""
    text = HEAD + (
        "__global__ void k(float* p);\nint main() { float* p; cudaMalloc(&p, 4);\n#ifdef TWICE\n cudaFree(p);\n#endif\n"
        " cudaFree(p);\n float* q; cudaMallocHost(&q, 4);\n#ifdef WORK\n k<<<1, 1>>>(q);\n#endif\n"
        " cudaDeviceSynchronize();\n float x = *q; cudaFreeHost(q); return (int)x; }\n"
    )
    write({"a.cu": text})
    build(("a.cu", "nvcc -DTWICE"), ("a.cu", "nvcc -DWORK"), ("a.cu", "nvcc -DTWICE -O3"))
    assert places(capsys, "-p", "build", codes="SS201,SS504") == ["a.cu:7 SS201"]
    commands = CompileCommands.read("build", CompilerOptions())
    assert len(commands.configurations("a.cu")) == 2
    build(("a.cu", "nvcc"), ("a.cu", "nvcc -DOTHER"))
    assert places(capsys, "-p", "build", codes="SS504") == ["a.cu:12 SS504"]
    report = streamsan.check("a.cu", compile_commands="build")
    assert report.files == 1
    assert len({(each.code, each.location.line) for each in report.findings}) == len(report.findings)


def test_calls_that_one_program_reaches_are_read(capsys):
    text = (
        HEAD + "#ifdef A\n#define ON 1\n#else\n#define ON 0\n#endif\nint main() { if (ON) cudaDeviceSynchronize(); }\n"
    )
    write({"a.cu": text})
    build(("a.cu", "nvcc"))
    assert main(["check", "-p", "build", "--strict"]) == 2
    build(("a.cu", "nvcc"), ("a.cu", "nvcc -DA"))
    assert main(["check", "-p", "build", "--strict"]) == 0
    capsys.readouterr()


def test_a_fix_is_tried_in_all_ways(capsys):
    """Without the wait the one program is as it was, and the other one is wrong."""
    text = HEAD + "int main() {\n  cudaDeviceSynchronize();\n  cudaDeviceSynchronize();\n}\n"
    write({"a.cu": text})
    build(("a.cu", "nvcc"), ("a.cu", "nvcc -DX"))
    assert main(["check", "-p", "build", "--fix", "--select", "SS504"]) == 0
    assert Path("a.cu").read_text(encoding="utf-8").count("cudaDeviceSynchronize") < 2
    capsys.readouterr()


def test_a_header_that_two_sources_reach_by_two_names_is_one(capsys):
    write(
        {
            "src/a.cu": '#include "../inc/t.h"\nint main() { f(); }\n',
            "src/b.cu": '#include "t.h"\nint main() { f(); }\n',
            "inc/t.h": HEAD + "inline void f() { void* p; cudaMalloc(&p, 4); cudaFree(p);\n cudaFree(p); }\n",
        }
    )
    build(("src/a.cu", "nvcc"), ("src/b.cu", "nvcc -I../inc"))
    assert len(places(capsys, "-p", "build")) == 1


# -- what is wrong with it ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ("{", "not JSON: "),
        ("[" * 100_000, "not JSON: nested too deeply"),
        ("{}", "no list of entries"),
        ("[1]", "entry 1: no object"),
        ([{"file": "a.cu", "command": "nvcc"}], "entry 1: `directory` is missing"),
        ([{"directory": 1, "file": "a.cu", "command": "nvcc"}], "entry 1: `directory` is no text"),
        ([{"directory": "/", "file": "a\0.cu", "command": "nvcc"}], "entry 1: `file` is no text"),
        ([{"directory": "/", "file": "a.cu"}], "entry 1: `command` is missing"),
        ([{"directory": "/", "file": "a.cu", "arguments": "nvcc"}], "entry 1: `arguments` is no list of strings"),
        ([{"directory": "/", "file": "a.cu", "arguments": [1]}], "entry 1: `arguments` is no list of strings"),
    ],
)
def test_what_is_no_list_of_entries_is_one_line(document: Any, reason: str, capsys: Any) -> None:
    text = document if isinstance(document, str) else json.dumps(document)
    write({"build/compile_commands.json": text, "a.cu": PROGRAM})
    for arguments in (["-p", "build"], ["-p", "build/compile_commands.json", "a.cu"]):
        assert main(["check", *arguments]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        assert captured.err.startswith(f"streamsan: -p: build/compile_commands.json: {reason}")


def test_a_file_that_is_not_there_is_one_line(capsys):
    Path("build").mkdir()
    for place, file in (("build", "build/compile_commands.json"), ("gone", "gone")):
        assert main(["check", "-p", place]) == 2
        assert capsys.readouterr().err == f"streamsan: -p: {file}: no such file or directory\n"
    os.mkfifo("pipe")
    assert main(["check", "-p", "pipe"]) == 2
    assert capsys.readouterr().err == "streamsan: -p: pipe: not a regular file\n"
    with pytest.raises(streamsan.OptionError, match="-p: gone"):
        streamsan.check(compile_commands="gone")


def test_an_entry_that_cannot_be_read_takes_no_other_with_it(capsys):
    write(dict.fromkeys(("a.cu", "b.cu", "c.cpp"), PROGRAM))
    build(("b.cu", "nvcc '-DX"), ("a.cu", "nvcc -DTWICE"), ("c.cpp", "nvcc @gone.rsp"))
    assert main(["check", "-p", "build"]) == 2
    captured = capsys.readouterr()
    assert "error[SS201]" in captured.out
    assert captured.err.splitlines() == [
        "streamsan: b.cu: build/compile_commands.json: entry 1: `command`: no closing quotation",
        "streamsan: c.cpp: build/compile_commands.json: entry 3: gone.rsp: no such file or directory",
    ]


def test_entries_of_files_that_are_gone_are_one_line_and_fail_a_strict_check(capsys):
    write({"a.cu": PROGRAM})
    build(*((name, "nvcc") for name in ("a.cu", "gen/b.cu", "gen/c.cpp")))
    assert main(["check", "-p", "build"]) == 0
    captured = capsys.readouterr()
    assert captured.err == "streamsan: build/compile_commands.json: 2 sources are not there: gen/b.cu, gen/c.cpp\n"
    assert captured.out.splitlines()[-1].endswith("; 2 sources not found")
    assert main(["check", "-p", "build", "--strict"]) == 2
    assert "2 sources not found (gen/b.cu, gen/c.cpp)" in capsys.readouterr().err
    assert main(["check", "-p", "build", "--format", "json"]) == 0
    unread = json.loads(capsys.readouterr().out)["summary"]["unread"]
    assert unread["sources_not_found"] == ["gen/b.cu", "gen/c.cpp"]
    assert main(["check", "-p", "build", "a.cu", "--strict"]) == 0


def test_no_entry_of_this_folder_is_unreadable(capsys):
    build(("/elsewhere/a.cu", "nvcc"))
    assert main(["check", "-p", "build"]) == 2
    assert "no entry is of a source in this folder" in capsys.readouterr().err
    build()
    write({"a.cu": PROGRAM})
    assert places(capsys, "-p", "build", "a.cu", "-DTWICE") == WRONG


def test_nothing_of_it_is_executed(capsys):
    write({"a.cu": PROGRAM})
    build(("a.cu", "nvcc `touch bad1` $(touch bad2); touch bad3 && touch bad4 -DTWICE"))
    assert places(capsys, "-p", "build") == WRONG
    assert not [name for name in os.listdir() + os.listdir("build") if re.match("bad", name)]


def test_a_project_names_its_build(capsys):
    write({"a.cu": PROGRAM, "streamsan.toml": 'compile-commands = "build"\n'})
    build(("a.cu", "nvcc -DTWICE"))
    assert places(capsys) == WRONG
    write({"streamsan.toml": 'compile-commands = "../build"\n'})
    assert main(["check"]) == 2
    assert "outside the file's folder" in capsys.readouterr().err

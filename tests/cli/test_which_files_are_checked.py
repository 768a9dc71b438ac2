"""Folders: what git ignores, what `--exclude` names, and sources that have nothing to do with a device."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsan.cli import main

LEAK = "#include <cuda_runtime.h>\nint main() { void* p; cudaMalloc(&p, 4); return 0; }\n"


def tree(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def checked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[list[str], str]:
    """Return the files with a finding, and the last lines of the report."""
    assert main(["check", "--notes", "--format", "concise", *arguments]) == 0
    files = sorted({line.split(":")[0].removeprefix("") for line in capsys.readouterr().out.splitlines()})
    assert main(["check", *arguments]) == 0
    return files, capsys.readouterr().out


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_git_ignores_is_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree(folder, dict.fromkeys(("a.cu", "gen/b.cu", "gen/keep.cu", "sub/c.cu", "sub/d.cu"), LEAK))
    tree(folder, {".gitignore": "gen/*\n!gen/keep.cu\n", "sub/.gitignore": "/c.cu\n"})
    every = ["a.cu", "gen/b.cu", "gen/keep.cu", "sub/c.cu", "sub/d.cu"]
    assert checked(capsys, ".")[0] == every  # no repository: git ignores nothing
    (folder / ".git").mkdir()
    assert checked(capsys, ".")[0] == ["a.cu", "gen/keep.cu", "sub/d.cu"]
    assert checked(capsys, "sub")[0] == ["sub/d.cu"]
    assert checked(capsys, "gen/b.cu")[0] == ["gen/b.cu"]  # a file that is named is wanted


def test_exclude_begins_at_the_folder_or_here(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree(folder, dict.fromkeys(("src/a.cu", "src/vendor/b.cu", "src/x/vendor/c.cu", "src/x/t_test.cu"), LEAK))
    assert checked(capsys, "src", "--exclude", "vendor")[0] == ["src/a.cu", "src/x/t_test.cu"]
    assert checked(capsys, "src", "--exclude", "/vendor", "--exclude", "*_test.cu")[0] == [
        "src/a.cu",
        "src/x/vendor/c.cu",
    ]
    assert checked(capsys, "src", "--exclude", "src/x/")[0] == ["src/a.cu", "src/vendor/b.cu"]


def test_a_pattern_that_is_none_is_bad_usage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", ".", "--exclude", "!"]) == 2
    assert "--exclude" in capsys.readouterr().err


def test_sources_without_a_word_of_cuda_are_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree(
        folder,
        {
            "plain.cpp": '#include "plain.h"\nint current() { return accuse(); }\n',
            "plain.h": "int accuse();\n",
            "user.cpp": '#include "inc/wrapper.h"\nint main() { make(); return 0; }\n',
            "inc/wrapper.h": '#include "deep.h"\n',
            "inc/deep.h": "#include <cuda_runtime.h>\ninline void make() { void* p; cudaMalloc(&p, 4); }\n",
        },
    )
    files, report = checked(capsys, ".")
    assert files == ["inc/deep.h"]
    assert "in 1 file," in report
    assert "(2 files without a word of CUDA or OpenCL were left out)" in report
    assert "left out" not in checked(capsys, "plain.cpp")[1]


def test_headers_of_include_folders_count(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree(folder, {"src/user.cpp": "#include <wrap.h>\n", "inc/wrap.h": "void* p = cudaFree;\n"})
    assert "1 file without a word of CUDA or OpenCL was left out" in checked(capsys, "src")[1]
    assert "left out" not in checked(capsys, "src", "-I", "inc")[1]

"""`check` remembers results: a source that has not changed, with all that it includes, is not read again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from streamsan.analysis import source_files
from streamsan.analysis.programs import Outline
from streamsan.analysis.source_options import SourceOptions
from streamsan.checking import source_programs
from streamsan.checking.every_input import FEWEST_FOR_PROCESSES
from streamsan.checking.remembered import code_digest
from streamsan.cli import main
from streamsan.cuda_syntax.files_seen import digest_of

WRONG = """#include "wait.cuh"
#include "not_there.cuh"
int main() {
  float* d_x;
  cudaMalloc(&d_x, 64);
  cudaFree(d_x);
  cudaMemset(d_x, 0, 64);
  WAIT();
}
"""
Check = Callable[..., str]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source with a header, in the current folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.cu").write_text(WRONG)
    (folder / "wait.cuh").write_text("#define WAIT() cudaDeviceSynchronize()\n")
    monkeypatch.chdir(folder)
    monkeypatch.delenv("STREAMSAN_NO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that were read, in this process."""
    names: list[str] = []
    analyse = source_files.analyse_source

    def watched(name: str, *args: object) -> object:
        names.append(name)
        return analyse(name, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(source_files, "analyse_source", watched)
    return names


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Check:
    """Run `check` and return what it says."""

    def run(*arguments: str) -> str:
        status = main(["check", *arguments])
        said = capsys.readouterr()
        return f"{status}\n{said.out}\n{said.err}"

    return run


def _entries(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and len(path.parent.name) == 2]


@pytest.mark.parametrize("words", [("--format", "json"), ("--notes",), (), ("--format", "sarif", "--no-fixes")])
def test_the_second_run_reads_nothing_and_says_the_same(
    project: Path, read: list[str], check: Check, words: tuple[str, ...]
) -> None:
    first = check("a.cu", *words)
    assert "SS101" in first
    assert read == ["a.cu"]
    assert check("a.cu", *words) == first
    assert read == ["a.cu"]
    assert check("a.cu", *words, "--no-cache") == first
    assert read == ["a.cu", "a.cu"]


def _header(project: Path) -> None:
    (project / "wait.cuh").write_text("#define WAIT()\n")


def _missing_header(project: Path) -> None:
    (project / "not_there.cuh").write_text("inline void f(float* p) { cudaFree(p); cudaFree(p); }\n")


def _source(project: Path) -> None:
    (project / "a.cu").write_text(WRONG.replace("64", "128"))


def _link(project: Path) -> None:
    (project / "wait.cuh").rename(project / "other.cuh")
    (project / "wait.cuh").symlink_to("a.cu")


@pytest.mark.parametrize("change", [_header, _missing_header, _source, _link])
def test_what_a_result_depends_on_is_looked_at(
    project: Path, read: list[str], check: Check, change: Callable[[Path], None]
) -> None:
    check("a.cu", "--notes")
    change(project)
    changed = check("a.cu", "--notes")
    assert read == ["a.cu", "a.cu"]
    assert changed == check("a.cu", "--notes", "--no-cache")
    del read[:]
    assert changed == check("a.cu", "--notes")
    assert read == []


def test_a_header_that_comes_in_front_of_another_counts(project: Path, read: list[str], check: Check) -> None:
    for folder in ("first", "second"):
        (project / folder).mkdir()
    (project / "second" / "not_there.cuh").write_text("")
    check("a.cu", "-I", "first", "-I", "second")
    (project / "first" / "not_there.cuh").write_text("int main();")
    check("a.cu", "-I", "first", "-I", "second")
    assert read == ["a.cu", "a.cu"]


def test_two_names_of_one_header_count(project: Path, read: list[str], check: Check) -> None:
    (project / "not_there.cuh").symlink_to("wait.cuh")  # so it is read once
    check("a.cu")
    (project / "not_there.cuh").unlink()
    (project / "not_there.cuh").write_text((project / "wait.cuh").read_text())
    check("a.cu")
    assert read == ["a.cu", "a.cu"]


@pytest.mark.parametrize("words", [("-D", "WAIT=f"), ("-I", "."), ("--no-fixes",), ("--notes",)])
def test_other_options_have_other_results(project: Path, read: list[str], check: Check, words: tuple[str, ...]) -> None:
    check("a.cu")
    check("a.cu", *words)
    assert read == ["a.cu", "a.cu"]


def test_other_code_has_other_results(
    project: Path, read: list[str], check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    check("a.cu")
    monkeypatch.setattr("streamsan.checking.remembered.results.code_digest", lambda: "newer")
    check("a.cu")
    assert read == ["a.cu", "a.cu"]


def test_the_code_is_known_by_its_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "rule.py").write_text("a")
    monkeypatch.setattr("streamsan.__path__", [str(tmp_path)])
    digests = set()
    for text in ("a", "ab", "abc"):
        (tmp_path / "deep" / "rule.py").write_text(text)
        digests.add(code_digest.code_digest.__wrapped__())
    assert len(digests) == 3
    assert code_digest.code_digest.__wrapped__() in digests


CALLER = "void drop(float* p);\nint main() { float* p; cudaMalloc(&p, 64); cudaFree(p); drop(p); }\n"
CALLED = "void drop(float* p) { cudaFree(p); }\n"


@pytest.fixture
def program(project: Path) -> Path:
    """Two sources that are one program: only together a pointer is freed twice."""
    (project / "main.cu").write_text(CALLER)
    (project / "drop.cu").write_text(CALLED)
    return project


@pytest.fixture
def outlined(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources whose outlines were read, in this process."""
    names: list[str] = []
    outline = source_programs.outline

    def watched(path: str, options: SourceOptions) -> Outline:
        names.append(path)
        return outline(path, options)

    monkeypatch.setattr(source_programs, "outline", watched)
    return names


def test_a_program_of_several_sources_is_not_read_again(
    program: Path, read: list[str], outlined: list[str], check: Check
) -> None:
    first = check("main.cu", "drop.cu", "a.cu", "--format", "json")
    assert "SS201" in first
    assert sorted(read) == ["a.cu", "main.cu"]
    assert sorted(outlined) == ["a.cu", "drop.cu", "main.cu"]
    assert check("main.cu", "drop.cu", "a.cu", "--format", "json") == first
    assert sorted(read) == ["a.cu", "main.cu"]
    assert len(outlined) == 3
    assert "SS201" not in check("main.cu")  # alone it is another program


def test_each_source_of_a_program_counts(program: Path, read: list[str], outlined: list[str], check: Check) -> None:
    check("main.cu", "drop.cu")
    (program / "drop.cu").write_text("void drop(float* p) {}\n")
    assert "SS201" not in check("main.cu", "drop.cu")
    assert read == ["main.cu", "main.cu"]
    assert outlined == ["main.cu", "drop.cu", "drop.cu"]
    (program / "drop.cu").write_text("void other(float* p) {}\n")
    assert check("main.cu", "drop.cu") == check("main.cu", "drop.cu", "--no-cache")


def test_fixed_sources_of_a_program_are_read_as_they_are_then(program: Path, check: Check) -> None:
    check("main.cu", "drop.cu", "--fix")
    assert check("main.cu", "drop.cu") == check("main.cu", "drop.cu", "--no-cache")


def _with_digest(text: bytes) -> bytes:
    return digest_of(text).encode() + b"\n" + text


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b"SS101", b"SS102"),
        lambda data: _with_digest(b"[]"),
        lambda data: _with_digest(b"[" * 100_000),
        lambda data: _with_digest(data.partition(b"\n")[2].replace(b'"proven"', b'"sure"')),
        lambda data: _with_digest(data.partition(b"\n")[2].replace(b'"a.cu"', b"7")),
        lambda data: _with_digest(b"\xff\xfe"),
    ],
)
def test_a_damaged_entry_is_made_again(
    project: Path, tmp_path: Path, read: list[str], check: Check, damage: Callable[[bytes], bytes]
) -> None:
    first = check("a.cu")
    (entry,) = _entries(tmp_path / "cache")
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    assert check("a.cu") == first
    assert read == ["a.cu", "a.cu"]
    assert entry.read_bytes() == whole


def test_a_folder_that_cannot_be_used_is_passed_over(project: Path, read: list[str], check: Check) -> None:
    (project / "file").write_text("")
    assert check("a.cu", "--cache-dir", "file") == check("a.cu", "--no-cache")
    assert read == ["a.cu", "a.cu"]


def test_a_folder_of_the_project_is_ignored_by_git_and_checks(project: Path, read: list[str], check: Check) -> None:
    first = check(".", "--cache-dir", "cache")
    assert check(".", "--cache-dir", "cache") == first
    assert read == ["./a.cu"]
    assert (project / "cache" / ".gitignore").read_text() == "*\n"
    assert (project / "cache" / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")
    assert len(_entries(project / "cache")) == 1


def test_what_cannot_be_read_again_is_not_remembered(project: Path, read: list[str], check: Check) -> None:
    os.mkfifo(project / "not_there.cuh")
    (project / "wait.cuh").unlink()
    (project / "wait.cuh").mkdir()
    check("a.cu")
    os.unlink(project / "not_there.cuh")
    (project / "not_there.cuh").symlink_to("/proc/self/mem")
    check("a.cu")
    assert read == ["a.cu", "a.cu"]


def test_patches_are_of_what_is_there(project: Path, check: Check) -> None:
    patch = check("a.cu", "--diff", "--no-cache", "--notes")
    check("a.cu", "--notes")
    assert check("a.cu", "--diff", "--notes") == patch
    edits = check("a.cu", "--diff", "--format", "json")
    assert '"edits"' in edits
    assert edits == check("a.cu", "--diff", "--format", "json", "--no-cache")


def test_processes_give_what_they_found(project: Path, read: list[str], check: Check) -> None:
    names = [f"s{number}.cu" for number in range(FEWEST_FOR_PROCESSES)]
    for name in names:
        (project / name).write_text(WRONG)
    first = check(*names, "--jobs", "2", "--format", "json")
    assert check(*names, "--jobs", "2", "--format", "json") == first
    (project / names[3]).write_text(WRONG.replace("64", "128"))
    check(*names, "--jobs", "2")
    assert read == []  # none of it in this process
    assert check(*names, "--jobs", "1", "--format", "json") != first
    assert read == [names[3]]

"""Links that loop, files that nobody may read, pipes, folders that are gone, output that is full or closed: one line
each, and the rest is checked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from streamsan.cli import main

GOOD = "#include <cuda_runtime.h>\nint main() { void* p; cudaMalloc(&p, 4); cudaFree(p); return 0; }\n"
FULL = "streamsan: standard output: no space left on device\n"
CLOSED = "streamsan: standard output: closed\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.cu").write_text(GOOD, encoding="utf-8")


def shell(command: str) -> tuple[int, str]:
    """Run a shell command in which $S is streamsan; return its status and what it says on standard error."""
    done = subprocess.run(
        ["bash", "-c", command],
        env={**os.environ, "S": f"{sys.executable} -m streamsan", "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def checked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, list[str]]:
    status = main(["check", "--notes", *arguments])
    out, err = capsys.readouterr()
    return status, out, err.splitlines()


def test_a_link_that_loops(capsys: pytest.CaptureFixture[str]) -> None:
    os.symlink("loop.cu", "loop.cu")
    os.mkdir("below")
    os.symlink("..", "below/above")
    status, out, err = checked(capsys, ".")
    assert (status, err) == (2, ["streamsan: ./loop.cu: too many levels of symbolic links"])
    assert "in 1 file," in out


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_nobody_may_read(capsys: pytest.CaptureFixture[str]) -> None:
    Path("secret.cu").write_text(GOOD, encoding="utf-8")
    os.chmod("secret.cu", 0)
    status, out, err = checked(capsys, ".")
    assert (status, err, "in 1 file," in out) == (2, ["streamsan: ./secret.cu: permission denied"], True)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["pipe.h", "/proc/kmsg", "/proc/self/mem", "/dev/zero", "/dev/tty", "loop.h", "."])
def test_an_include_that_is_no_source(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe.h")
    os.symlink("loop.h", "loop.h")
    Path("good.cu").write_text(f'#include "{name}"\n{GOOD}', encoding="utf-8")
    status, out, err = checked(capsys, "good.cu")
    assert (status, err) == (0, [])
    assert "4 operations" in out or "in 1 file" in out


@pytest.mark.parametrize("name", ["pipe.cu", "folder.cu"])
def test_an_input_that_is_no_file(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe.cu")
    os.mkdir("folder.cu")
    status, _, err = checked(capsys, name, "good.cu")
    assert (status, len(err)) == (2, 1)


@pytest.mark.parametrize(
    "verb", ["check .", pytest.param("check good.cu", marks=pytest.mark.deep), "sim x.py", "run -- true"]
)
def test_a_current_folder_that_is_gone(verb: str) -> None:
    status, err = shell(f"mkdir gone && cd gone && rmdir ../gone && $S {verb}")
    said = [line for line in err.splitlines() if line.startswith("streamsan")]
    assert "Traceback" not in err
    assert (status, len(said)) == (0 if verb.startswith("run") else 2, 1)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("$S check good.cu > /dev/full", FULL),
        pytest.param("$S check good.cu >&-", CLOSED, marks=pytest.mark.deep),
        pytest.param("$S check --format json good.cu > /dev/full", FULL, marks=pytest.mark.deep),
        pytest.param("$S rule > /dev/full", FULL, marks=pytest.mark.deep),
        pytest.param("$S check --help >&-", CLOSED, marks=pytest.mark.deep),
        ("$S check good.cu >&- 2>&-", ""),
    ],
)
def test_output_that_cannot_be_written(command: str, said: str) -> None:
    assert shell(command) == (2, said)


@pytest.mark.deep
def test_a_patch_that_cannot_be_written() -> None:
    race = GOOD.replace("cudaFree(p);", "cudaFree(p); cudaMemset(p, 0, 4);")
    Path("race.cu").write_text(race, encoding="utf-8")
    for where, said in (("> /dev/full", FULL), (">&-", CLOSED)):
        status, err = shell(f"$S check --diff race.cu {where}")
        assert (status, err.splitlines(keepends=True)[-1]) == (2, said)

"""Names, links and places of files that somebody else chose: a patch changes what it says, and nothing else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamsan.cli import main
from streamsan.cli.patches import patched_path, unified_diff

RACE = """\
#include <cuda_runtime.h>
__global__ void look(const float* v) { if (v[threadIdx.x] > 1e30f) __trap(); }
int main() {
    cudaStream_t s1, s2;
    cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking);
    float* d_x;
    cudaMallocAsync(&d_x, 4096, s1);
    cudaStreamSynchronize(s1);
    look<<<1, 32, 0, s2>>>(d_x);
    cudaFreeAsync(d_x, s1);
    cudaDeviceSynchronize();
}
"""
VICTIM = "one\n"
HUNK = "x\n+++ b/victim.txt\n@@ -1 +1 @@\n-one\n+owned\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    Path("victim.txt").write_text(VICTIM, encoding="utf-8")
    return tmp_path


def applied(patch: bytes) -> None:
    done = subprocess.run(["git", "apply", "-"], input=patch, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize(
    "name", [HUNK, 'a"b', "a\\b", "a b", "a\tb", "ä", "\x7f\x01", "x\r", " lead", "trail ", '"q"', "a\udc80"]
)
def test_a_patch_of_any_name_changes_that_file_only(name: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = Path(name.replace("/", "_")) / "a.cu"
    path.parent.mkdir()
    path.write_text(RACE, encoding="utf-8")
    assert main(["check", "--diff", os.fspath(path)]) == 1
    applied(capfdbinary.readouterr().out)
    assert path.read_text(encoding="utf-8") != RACE
    assert Path("victim.txt").read_text(encoding="utf-8") == VICTIM


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=20))
def test_git_takes_any_name(name: str) -> None:
    path = Path("n" + name)
    try:
        path.write_bytes(b"one\ntwo\n")
    except OSError:  # too long for the file system
        return
    applied(unified_diff(patched_path(os.fspath(path)), b"one\ntwo\n", b"one\nthree\n"))
    assert path.read_bytes() == b"one\nthree\n"
    path.unlink()


def test_what_no_patch_can_name_is_left_out_and_spoils_nothing(
    folder: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (folder / "outside.cu").write_text(RACE, encoding="utf-8")
    Path("real").mkdir()
    Path("real/a.cu").write_text(RACE, encoding="utf-8")
    os.symlink("real", "linked")
    os.symlink("real/a.cu", "link.cu")
    Path("plain.cu").write_text(RACE, encoding="utf-8")
    assert main(["check", "--diff", "plain.cu", "../outside.cu"]) == 1
    out, err = capfdbinary.readouterr()
    applied(out)
    assert b"../outside.cu: left out of the patch: it lies outside the current folder" in err
    Path("plain.cu").write_text(RACE, encoding="utf-8")
    for name, reason in (("link.cu", b"it is a link"), ("linked/a.cu", b"linked is a link")):
        assert main(["check", "--diff", "plain.cu", name]) == 1
        out, err = capfdbinary.readouterr()
        assert out.count(b"+++ ") == 1
        assert name.encode() + b": left out of the patch: " + reason in err


def test_a_fix_follows_no_link_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outside = folder / "outside.cuh"
    outside.write_text(RACE.replace("int main", "inline int run").replace(");\n}", ");\nreturn 0; }"), encoding="utf-8")
    before = outside.read_bytes()
    os.symlink(outside, "inner.cuh")
    os.symlink(outside, "direct.cu")
    Path("a.cu").write_text('#include "inner.cuh"\nint main() { return run(); }\n', encoding="utf-8")
    for path in ("a.cu", "direct.cu", "."):
        main(["check", "--fix", path])
        assert "may not be written, or was not named" in capsys.readouterr().err
        assert outside.read_bytes() == before


def test_a_file_with_two_names_stays(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.cu").write_text(RACE, encoding="utf-8")
    os.link("a.cu", folder / "other.cu")
    main(["check", "--fix", "a.cu"])
    assert "a.cu: the file has 2 names (hard links): nothing was written" in capsys.readouterr().err
    assert Path("a.cu").read_text(encoding="utf-8") == RACE

"""`check --jobs`: several processes say what one says, and one that is killed takes its own input with it only."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from streamsan.analysis.source_options import SourceOptions, plain
from streamsan.checking.every_input import FEWEST_FOR_PROCESSES, Workers, check_all
from streamsan.checking.folders import Input
from streamsan.cli import main
from streamsan.cuda_syntax.compiler_options import CompilerOptions

WRONG = """
int main() {
  float* d_x;
  cudaMalloc(&d_x, 64);
  cudaFree(d_x);
  cudaMemset(d_x, 0, 64);
}
"""


def _sources(folder: Path) -> list[str]:
    for number in range(FEWEST_FOR_PROCESSES):
        (folder / f"step{number}.cu").write_text(f'#include "shared.cuh"\n{WRONG}')
    (folder / "shared.cuh").write_text('#include "deeper.cuh"\ninline void wait() { cudaDeviceSynchronize(); }\n')
    (folder / "deeper.cuh").write_text("inline void fill(float* p) { cudaFree(p); cudaMemset(p, 0, 4); }\n")
    (folder / "alone.cuh").write_text("inline void lone(float* p) { cudaFree(p); cudaMemset(p, 0, 8); }\n")
    (folder / "damaged.sst").write_bytes(b"not a trace")
    return sorted(str(path) for path in folder.iterdir())


def test_processes_say_what_one_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _sources(tmp_path)
    assert main(["check", str(tmp_path), "--format", "json", "--jobs", "1"]) == 2
    one = capsys.readouterr()
    assert one.out.count("SS101") >= FEWEST_FOR_PROCESSES
    assert "damaged.sst" in one.err
    assert main(["check", str(tmp_path), "--format", "json", "--jobs", "3"]) == 2
    assert capsys.readouterr() == one


class Deadly:
    """How sources are compiled, by one that ends the process that asks for a certain file."""

    def __call__(self, path: str) -> Sequence[CompilerOptions]:
        if path.endswith("step2.cu"):
            os.kill(os.getpid(), signal.SIGKILL)
        return plain(path)


def test_a_killed_process_takes_its_input_only(tmp_path: Path) -> None:
    inputs = [Input(path) for path in _sources(tmp_path) if path.endswith(".cu")]
    checked = check_all(inputs, SourceOptions(Deadly()), workers=Workers(2))
    (problem,) = checked.unreadable
    assert problem.file == str(tmp_path / "step2.cu")
    assert problem.message == (
        "not checked: 3 processes that checked it ended, the last one was ended by SIGKILL: out of memory?"
    )
    others = [item.path for item in inputs if not item.path.endswith("step2.cu")]
    assert [result.path for result in checked.results] == others

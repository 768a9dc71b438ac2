"""What a check loads before the first file: each module takes time, and most runs check a file or two.

Numbers of modules stand for times, which differ from run to run. Who needs a further module on these ways loads it
late, at the seam behind which few checks need it, or raises a number here and says why each check should pay for it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_RUN = """
import sys
from streamsan.cli import main
main(["check", "--exit-zero", "a.cu"])
print(sorted(sys.modules), file=sys.stderr)
"""
UNNEEDED = {
    "dataclasses",
    "numpy",
    "rich",
    "streamsan.analysis.traces",
    "streamsan.checking.compile_commands",
    "streamsan.checking.engines.local_processes",
    "streamsan.checking.gathered_traces",
    "streamsan.edits",
    "streamsan.evidence.second_pass",
    "streamsan.kernels.opencl_texts",
    "streamsan.model.opencl.registered_calls",
    "streamsan.model.rarer_calls",
    "streamsan.recorder",
    "streamsan.sim",
    "streamsan.trace.reader",
    "streamsan.trace.stacks",
    "streamsan.trace.store",
    "traceback",
    "zipfile",
}
"""modules that no check of a right source needs"""
TO_JUDGE = {"streamsan.analysis.judged_worlds", "streamsan.order.engine"}
"""modules that only a source with operations needs"""
TO_SAY = {"streamsan.analysis.worlds", "streamsan.rules.case", "streamsan.rules.every_rule"}
"""modules that only a source with findings needs"""
TO_READ = {"streamsan.cuda_source", "streamsan.kernels", "streamsan.model", "streamsan.platforms", "tree_sitter"}
"""modules that only a source needs whose result is not remembered"""
MOST_TO_READ, MOST_TO_JUDGE, MOST_TO_ANSWER = 305, 317, 84
"""modules of the package: to read a source without operations, one with some, and to say again what was found in one"""
RIGHT = """
__global__ void k(float* p) {}
int main() { k<<<1, 1>>>(nullptr); cudaDeviceSynchronize(); }
"""
WRONG = """
int main() { float* p; cudaMalloc(&p, 4); cudaFree(p); cudaFree(p); }
"""
NO_OPERATIONS = "__global__ void k(float* p) { p[threadIdx.x] = 0; }\n"


def _loaded(folder: Path) -> set[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    del environment["STREAMSAN_NO_CACHE"]
    ran = subprocess.run(
        [sys.executable, "-c", _RUN], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return set(ran.stderr.strip("[]\n'").split("', '"))


def _own(modules: set[str]) -> int:
    return sum(name.startswith("streamsan") for name in modules)


def test_a_right_source_needs_its_reader_and_the_engine(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(RIGHT)
    loaded = _loaded(tmp_path)
    assert loaded >= TO_READ | TO_JUDGE
    assert sorted(loaded & (UNNEEDED | TO_SAY)) == []
    assert _own(loaded) <= MOST_TO_JUDGE


def test_a_source_with_findings_needs_the_rules(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(WRONG)
    loaded = _loaded(tmp_path)
    assert loaded >= TO_READ | TO_JUDGE | TO_SAY


def test_a_source_without_operations_needs_its_reader_only(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(NO_OPERATIONS)
    loaded = _loaded(tmp_path)
    assert loaded >= TO_READ
    assert sorted(loaded & (UNNEEDED | TO_JUDGE | TO_SAY)) == []
    assert _own(loaded) <= MOST_TO_READ


def test_what_is_remembered_needs_no_reader(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(RIGHT)
    _loaded(tmp_path)
    loaded = _loaded(tmp_path)
    assert sorted(loaded & (UNNEEDED | TO_JUDGE | TO_SAY | TO_READ)) == []
    assert _own(loaded) <= MOST_TO_ANSWER

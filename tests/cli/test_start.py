"""What a check loads before the first file: each module takes time, and most runs check a file or two."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_RUN = """
import sys
from streamsan.cli import main
assert main(["check", "a.cu"]) == 0
print(sorted(sys.modules), file=sys.stderr)
"""
UNNEEDED = {
    "numpy.ma",
    "streamsan.analysis.traces",
    "streamsan.checking.compile_commands",
    "streamsan.checking.worker_processes",
    "streamsan.evidence.second_pass",
    "streamsan.kernels.opencl_texts",
    "streamsan.trace.reader",
}


def _loaded(folder: Path) -> set[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    del environment["STREAMSAN_NO_CACHE"]
    ran = subprocess.run(
        [sys.executable, "-c", _RUN], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return set(ran.stderr.strip("[]\n'").split("', '"))


def test_a_right_source_needs_its_reader_only(tmp_path: Path) -> None:
    wait = "cudaDeviceSynchronize();"
    (tmp_path / "a.cu").write_text(f"__global__ void k(float* p) {{}}\nint main() {{ k<<<1, 1>>>(nullptr); {wait} }}")
    first = _loaded(tmp_path)
    assert "streamsan.cuda_source.explore" in first
    assert not first & UNNEEDED
    assert "streamsan.cuda_source" not in _loaded(tmp_path)  # remembered

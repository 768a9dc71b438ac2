"""NVIDIA's published CUDA Python examples on the simulated device: which run to their end, and what is found on them.

    python bench/published_examples.py PATH/cuda-python/cuda_bindings/examples --schedule lazy

The folder is of a checkout of github.com/NVIDIA/cuda-python; nothing of it is in this repository. The kernels'
arithmetic comes from `tests/sim/published/kernels.py`. Needs no network and no GPU; CUDA_HOME names a toolkit for the
headers that some examples look for, which may be an empty folder with `include` in it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))

from published_helpers import kernels_file  # noqa: E402

FOLDERS = ("0_Introduction", "1_Utilities", "2_Concepts_and_Techniques", "3_CUDA_Features", "4_CUDA_Libraries",
           "6_Performance", "extra")  # fmt: skip
NEEDS = {
    "cubemap": "a body that can read through a texture object",
    "numba": "Numba (the extra `numba`)",
    "nvidia_smi": "NVML, which is not simulated",
    "iso": "without `-m pytest` matplotlib, which shows its result",
}
"""Word in an example's name -> what it needs beyond the simulated device"""
_UNDER_PYTEST = re.compile(r"iso", re.IGNORECASE)
_MISSING = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")


@dataclass(frozen=True, slots=True)
class Run:
    """How one example went."""

    name: str
    status: int | None
    """exit status; None: it took too long"""
    seconds: float
    findings: tuple[str, ...]
    """`SS101 error file:line`, one each"""
    needs: str


def examples(folder: Path) -> Iterator[Path]:
    """Yield the examples of a checkout."""
    for part in FOLDERS:
        yield from sorted(path for path in (folder / part).rglob("*.py") if path.stat().st_size)


def run(folder: Path, example: Path, schedule: str, limit: float) -> Run:
    """Run one example on the simulated device."""
    name = str(example.relative_to(folder))
    paths = [str(ROOT / "src"), str(folder)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    with tempfile.TemporaryDirectory(prefix="streamsan-") as place:
        if "CUDA_HOME" not in environment:
            (Path(place) / "include").mkdir()
            environment["CUDA_HOME"] = place
        report = Path(place) / "report.json"
        command = [sys.executable, "-m", "streamsan", "sim", "--devices", "2", "--schedule", schedule,
                   "--kernels", str(kernels_file(folder.parents[1], Path(place))),
                   "--format", "json", "--report", str(report)]  # fmt: skip
        command += ["-m", "pytest", "-q", "-p", "no:cacheprovider"] if _UNDER_PYTEST.search(name) else []
        start = time.perf_counter()
        status: int | None = None
        error = ""
        try:
            done = subprocess.run(
                [*command, name], cwd=folder, env=environment, capture_output=True, text=True, timeout=limit
            )
            status, error = done.returncode, done.stderr + done.stdout
        except subprocess.TimeoutExpired:
            pass
        seconds = time.perf_counter() - start
        findings = tuple(_findings(report))
    return Run(name, status, seconds, findings, _needs(name, status, error))


def _findings(report: Path) -> Iterator[str]:
    try:
        found = json.loads(report.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    for one in found.get("findings", ()):
        if one.get("severity") != "note":
            site = one.get("location") or {}
            yield f"{one.get('code')} {one.get('severity')} {site.get('file', '')}:{site.get('line', '')}"


def _needs(name: str, status: int | None, error: str) -> str:
    if status == 0:
        return ""
    if status is None:
        return "more time"
    missing = _MISSING.search(error)
    if missing:
        return f"the module {missing[1]}"
    known = next((text for word, text in NEEDS.items() if word in name.lower()), "")
    lines = [line for line in error.splitlines() if line.strip() and not line.startswith("streamsan: partial")]
    last = next((line for line in reversed(lines) if "Error" in line), lines[-1] if lines else "")
    return known or last.strip()[:80]


def main() -> int:
    """Print the table; return 1 if an example did not end well."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="cuda_bindings/examples of a checkout")
    parser.add_argument("--schedule", default="0", help="as of `streamsan sim`")
    parser.add_argument("--only", default="", help="run the examples with this word in their name")
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="for each example")
    given = parser.parse_args()
    folder = given.folder.resolve()
    failed = 0
    print("| example | exit | seconds | findings | needs |\n|---|---|---|---|---|")
    for example in examples(folder):
        if given.only.lower() in str(example.relative_to(folder)).lower():
            one = run(folder, example, given.schedule, given.limit)
            failed += one.status != 0
            status = "-" if one.status is None else one.status
            print(f"| {one.name} | {status} | {one.seconds:.0f} | {', '.join(one.findings) or 'none'} | {one.needs} |")
            sys.stdout.flush()
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())

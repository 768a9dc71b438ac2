"""What a run was made on."""

from __future__ import annotations

import datetime
import importlib
import re
import shutil
import subprocess
from pathlib import Path

from conformance.results import Results

_VERSION = Path("/proc/driver/nvidia/version")


def of_gpu() -> Results:
    """Return empty results of a run on this machine's GPUs. Initialises CUDA in this process: call it last.

    Raises RuntimeError where there is none, or nothing to reach it with.
    """
    try:
        runtime = importlib.import_module("cuda.bindings.runtime")
    except ImportError as error:
        raise RuntimeError("cuda-bindings is not installed") from error
    status, count = runtime.cudaGetDeviceCount()
    if int(status) != 0:
        raise RuntimeError(f"no GPU: {status.name}")
    _, properties = runtime.cudaGetDeviceProperties(0)
    _, version = runtime.cudaDriverGetVersion()
    name = properties.name.decode(errors="replace").rstrip("\0")
    return Results("gpu", name, _driver(), today(), int(version), int(count))


def of_simulation(driver: str, devices: int) -> Results:
    """Return empty results of a simulated run."""
    return Results("sim", "simulated device", driver, today(), 13000, devices)


def today() -> str:
    """Return the date."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _driver() -> str:
    tool = shutil.which("nvidia-smi")
    if tool is not None:
        words = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
        lines = subprocess.run(words, capture_output=True, text=True, check=False).stdout.split()
        if lines:
            return lines[0]
    if _VERSION.exists():
        found = re.search(r"\b\d+\.\d+(\.\d+)?\b", _VERSION.read_text(encoding="utf-8", errors="replace"))
        if found:
            return found.group()
    return "unknown"

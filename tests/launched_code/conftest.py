"""Nothing that was read outside of the tests is known in them, and nothing of theirs stays."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest
from launched_traces import CUBINS

from shared_folders import shared_folder
from streamsan.launched_code.remembered_kernels import ReadKernel, RememberedKernels
from streamsan.machine_code.cubin import read_cubin
from streamsan.machine_code.disassembler import disassemblers
from streamsan.machine_code.kernel_accesses import kernel_accesses
from streamsan.machine_code.kernel_code import kernels_of


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is known of all kernels of the tests' images: each is read once for all processes of a test run."""
    folder = shared_folder(tmp_path_factory, "kernel_cache")
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if disassemblers() and not (folder / "streamsan").exists():
            remembered = RememberedKernels(folder / "streamsan" / "kernels")
            for path in sorted(CUBINS.glob("*.sm_90.cubin")):  # most are of these
                content = path.read_bytes()
                codes = kernels_of(content, read_cubin(content))
                remembered.add(content, {name: ReadKernel(kernel_accesses(code), code) for name, code in codes.items()})
    return folder


@pytest.fixture(autouse=True)
def _shared(shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared_cache))


@pytest.fixture
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of the test's own, in which what is read is remembered."""
    folder = tmp_path_factory.mktemp("own_cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder / "streamsan" / "kernels"

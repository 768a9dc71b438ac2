"""Protection of host memory by itself: what each access meets, bounds, threads, forks; under sanitizers too."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest

from sanitized_programs import NATIVE, UNDER_SANITIZERS, build, run

DRIVER = NATIVE / "recorder/tests/host_driver.cpp"
UNITS = ("recorder/tests/host_driver.cpp recorder/host/protection.cpp recorder/host/fault_chain.cpp",)

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="a fault tells its mode on x86-64")


@pytest.mark.parametrize("sanitizer", ["plain", *UNDER_SANITIZERS])
@pytest.mark.parametrize("name", re.findall(r'\{"(\w+)", \w+\}', DRIVER.read_text()))
def test_protection(name: str, sanitizer: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    if name == "keys" and " ospke" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this machine has no memory protection keys")
    assert run(build(tmp_path_factory, sanitizer, UNITS), name) == "done\n"

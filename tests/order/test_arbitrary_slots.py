"""The engine under the address and undefined-behaviour sanitizers, fed with arbitrary slots."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from host_compiler import COMPILER
from streamsan.generate.__main__ import write_headers

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.deep


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The driver, built without optimisation: the engine is a few files, and this is all that it needs."""
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    target = tmp_path_factory.mktemp("native") / "arbitrary_slots"
    write_headers(target.with_name("generated"))
    sources = sorted(path for path in (ROOT / "native/order").glob("*.cpp") if path.name != "bindings.cpp")
    command = [COMPILER, "-std=c++20", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command += [
        "-I",
        str(ROOT / "native"),
        "-I",
        str(target.parent),
        str(ROOT / "native/order/tests/arbitrary_slots.cpp"),
        *map(str, sources),
    ]
    subprocess.run([*command, "-o", str(target)], check=True)
    return target


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_no_fault_whatever_the_slots_hold(driver: Path, seed: int) -> None:
    result = subprocess.run([driver, str(seed), "40000"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "problems" in result.stdout

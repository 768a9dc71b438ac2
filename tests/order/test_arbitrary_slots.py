"""The engine under the address and undefined-behaviour sanitizers, fed with arbitrary slots."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanitized_programs import NATIVE, build, run

pytestmark = pytest.mark.deep
ENGINE = " ".join(
    str(path.relative_to(NATIVE)) for path in sorted((NATIVE / "order").glob("*.cpp")) if path.name != "bindings.cpp"
)


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory, "address", (ENGINE, "order/tests/arbitrary_slots.cpp"))


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_no_fault_whatever_the_slots_hold(driver: Path, seed: int) -> None:
    assert "problems" in run(driver, seed, 30000)

"""The recorder's map of addresses, by a native program under sanitizers."""

from __future__ import annotations

import pytest

from sanitized_programs import UNDER_SANITIZERS, build, run


@pytest.mark.parametrize("sanitizer", UNDER_SANITIZERS)
def test_map_of_addresses(sanitizer: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    program = build(tmp_path_factory, sanitizer, ["recorder/tests/memory_driver.cpp recorder/memory/*.cpp"])
    for seed in range(1, 6):
        run(program, seed)

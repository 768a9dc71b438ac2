"""Which launches are trusted to touch what earlier ones touched."""

from __future__ import annotations

import pytest

from sanitized_programs import UNDER_SANITIZERS, build, run

UNITS = ["recorder/tests/learned_driver.cpp recorder/cuda/learned_accesses.cpp recorder/memory/*.cpp"]


@pytest.mark.deep
@pytest.mark.parametrize("sanitizer", ["plain", UNDER_SANITIZERS[0]])
def test_what_is_trusted(sanitizer: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    run(build(tmp_path_factory, sanitizer, UNITS))

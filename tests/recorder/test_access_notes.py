"""What kernels note on the device: from bits to ranges and rows, and the patch that writes the bits."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from sanitized_programs import NATIVE, UNDER_SANITIZERS, build, run
from streamsan.recorder.accesses import PATCH


@pytest.mark.deep
@pytest.mark.parametrize("sanitizer", ["plain", UNDER_SANITIZERS[0]])
def test_notes_become_ranges_and_rows(sanitizer: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    units = ["recorder/tests/accesses_driver.cpp recorder/accesses/*.cpp"]
    program = build(tmp_path_factory, sanitizer, units)
    for seed in range(1, 4):
        run(program, seed)


def test_the_patch_was_made_of_its_sources() -> None:
    folder = NATIVE / "recorder" / "accesses"
    sources = b"".join((folder / name).read_bytes() for name in ("access_patch.cu", "device_notes.hpp"))
    made_of = PATCH.with_suffix(".sources").read_text().strip()
    assert hashlib.sha256(sources).hexdigest() == made_of, "make_access_patch.sh must run again"


def test_the_patch_is_small() -> None:
    assert PATCH.read_bytes()[:4] == b"\x50\xed\x55\xba"  # a fatbinary
    assert 10_000 < Path(PATCH).stat().st_size < 200_000

"""Rotation of the recorder's files: every file is complete in itself, whatever the threads did at that moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanitized_programs import UNDER_SANITIZERS, WRITER_SOURCES, build, operations_of, run
from streamsan.trace import Trace
from streamsan.trace.reader import read
from streamsan.vocabulary import OperationKind, SlotFlag


@pytest.fixture(scope="module", params=["plain", *UNDER_SANITIZERS])
def driver(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory, request.param, WRITER_SOURCES)


def alive_at_the_end(trace: Trace) -> set[int]:
    """Replay the allocations and frees of one file; each free must find its allocation in it, once."""
    alive: set[int] = set()
    for kind, address, site in operations_of(trace)[["kind", "address", "site"]].tolist():
        if kind == OperationKind.ALLOC:
            assert address not in alive
            alive.add(address)
            assert trace.site(site).file.startswith("f")
        elif kind == OperationKind.FREE:
            alive.remove(address)
    return alive


@pytest.mark.parametrize(("most", "count"), [(700_000, 12_000), (4_000_000, 40_000)])
def test_each_file_is_complete_in_itself(driver: Path, tmp_path: Path, most: int, count: int) -> None:
    """Each thread alone fills more than a file, whenever it runs."""
    path, older = tmp_path / "F.sst", tmp_path / "F.old.sst"
    rotations, alive = map(int, run(driver, "rotated", path, 4, count, most).split())
    assert rotations >= 2
    assert sorted(tmp_path.iterdir()) == [older, path]
    for file in (path, older):
        assert file.stat().st_size <= most // 2
        trace = read(file)
        assert trace.complete
        assert trace.apis == ["", "cuMemAlloc"]
        assert len(trace.threads) == 4
    assert len(alive_at_the_end(read(path))) == alive
    alive_at_the_end(read(older))
    # What is told in the newer file happened after everything in the older, but for what is restated.
    last = operations_of(read(older))["sequence"][-1]
    operations = operations_of(read(path))
    own = operations[operations["sequence"] > last]
    restated = operations[operations["sequence"] <= last]
    assert len(own) > 0
    assert set(restated["kind"].tolist()) <= {int(OperationKind.ALLOC)}
    waits = own[own["kind"] == OperationKind.CONTEXT_SYNCHRONIZE]
    assert not (waits["flags"] & SlotFlag.ENTER).any()


def test_a_limit_that_is_too_small_for_what_is_alive(driver: Path, tmp_path: Path) -> None:
    """The smallest limit is half a mebibyte: the file goes on, or says why it stops, and the program is unharmed."""
    path = tmp_path / "F.sst"
    run(driver, "rotated", path, 2, 5_000, 1)
    assert read(path).complete
    assert path.stat().st_size <= 1 << 18

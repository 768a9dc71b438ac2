"""Pools end their workers from outside as soon as they have the results: what the workers did is there all the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_waits_and_ends import sim

from streamsan.trace import reader
from streamsan.vocabulary import OperationKind

CALLS = 200
PROGRAM = """\
from multiprocessing import get_context
from cuda.bindings import runtime

def work(number):
    for _ in range(CALLS):
        status, pointer = runtime.cudaMalloc(64)
        runtime.cudaFree(pointer)
    return number

if __name__ == "__main__":
    with get_context("METHOD").Pool(2) as pool:
        assert pool.map(work, range(2)) == [0, 1]
""".replace("CALLS", str(CALLS))


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.deep)])
def test_nothing_of_what_a_worker_did_before_its_result_is_missing(tmp_path: Path, method: str) -> None:
    done = sim(tmp_path, PROGRAM.replace("METHOD", method), "-o", "trace.sst")
    assert done.returncode == 0, done.stderr
    assert "partial result" not in done.stderr
    chunks = reader.read(str(tmp_path / "trace.sst")).chunks()
    assert sum(int((chunk["kind"] == OperationKind.ALLOC).sum()) for chunk in chunks) == 2 * CALLS

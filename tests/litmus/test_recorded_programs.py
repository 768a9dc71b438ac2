"""The programs that are judged by their recordings, read from source: nothing false, and what is missed has a reason.

What their recordings show is in tests/traces.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from expectations import Expectations, check_text, check_unchanged, pair_name
from streamsan.findings.finding import Severity

FOLDER = Path(__file__).parent
RECORDED = FOLDER / "recorded"
POOLS = FOLDER / "pools"
"""judged by their recordings only: there is no source reader for them"""
PROGRAMS = sorted(path for path in RECORDED.iterdir() if path.suffix in (".cu", ".py"))
SOURCES = [path for path in PROGRAMS if path.suffix == ".cu"]
LIMITS = tomllib.loads((FOLDER / "recorded.toml").read_text(encoding="utf-8"))


SLOW = ("ss102_request_scratch_free", "ss108_ocean_forcing_managed")
"""a second or more for each: their loops are gone through many times"""


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.deep if pair_name(path) in SLOW else ()) for path in SOURCES],
    ids=lambda path: path.stem,
)
def test_source_is_reported_as_marked_or_has_a_reason(path: Path) -> None:
    expected = Expectations.of(path.read_text(encoding="utf-8"))
    loud = {(f.location.line, f.code) for f in check_unchanged(path) if f.severity is not Severity.NOTE}
    assert loud <= expected.loud | expected.notes
    assert bool(loud) == (bool(expected.loud) and pair_name(path) not in LIMITS["source"])


def test_they_come_in_pairs_named_after_their_mistake() -> None:
    wrong = [path for path in PROGRAMS if ".wrong." in path.name]
    assert len(wrong) >= 40
    assert sorted(path.name.replace(".wrong.", ".right.") for path in wrong) == [
        path.name for path in PROGRAMS if ".right." in path.name
    ]
    for path in PROGRAMS:
        marks = Expectations.of(path.read_text(encoding="utf-8"))
        codes = {code.lower() for _, code in marks.loud | marks.notes}
        assert codes == ({path.name[:5]} if ".wrong." in path.name else set()), path.name


def test_wrong_programs_on_pools_have_a_right_twin_and_marks_of_their_rule() -> None:
    names = {path.name for path in POOLS.glob("*.py")}
    for name in names:
        marks = Expectations.of((POOLS / name).read_text(encoding="utf-8"))
        codes = {code.lower() for _, code in marks.loud | marks.notes}
        assert codes == ({name[:5]} if ".wrong." in name else set()), name
        assert name.replace(".wrong.", ".right.") in names


def test_reasons_are_of_programs_that_are_there() -> None:
    there = {pair_name(path) for folder in (FOLDER, RECORDED, POOLS) for path in folder.glob("ss*")}
    for table in ("unseen", "chance", "host", "exact", "both", "instead", "source"):
        assert set(LIMITS[table]) <= there, table
    assert set(LIMITS["accesses"]["pairs"]) <= there


def test_a_way_out_of_a_loop_without_end_is_no_error_exit(tmp_path: Path) -> None:
    text = """
    struct Feed {
      float *pinned, *device; cudaStream_t stream; cudaEvent_t done; long polls = 0;
      void wait(cudaEvent_t e) {
        for (;;) {
          cudaError_t s = cudaEventQuery(e);
          if (s == cudaSuccess) return;
          if (s != cudaErrorNotReady) { printf("%d", s); exit(1); }
          ++polls;
        }
      }
      void step(int number) {
        wait(done);
        for (int i = 0; i < 1024; ++i) pinned[i] = number;
        cudaMemcpyAsync(device, pinned, 4096, cudaMemcpyHostToDevice, stream);
        cudaEventRecord(done, stream);
      }
    };
    int main() {
      Feed feed;
      cudaMallocHost(&feed.pinned, 4096); cudaMalloc(&feed.device, 4096);
      cudaStreamCreate(&feed.stream); cudaEventCreate(&feed.done);
      for (int number = 0; number < 4; ++number) feed.step(number);
      cudaStreamSynchronize(feed.stream);
    }
    """
    assert [found for found in check_text(text, tmp_path) if found.severity is not Severity.NOTE] == []
    without = check_text(text.replace("wait(done);", ""), tmp_path)
    assert "SS108" in {found.code for found in without if found.severity is not Severity.NOTE}

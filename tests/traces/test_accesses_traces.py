"""The programs on what work touches, recorded on an H200: NAME.WAY.sst is judged by the marks of the program.

`python bench/recorded_litmus.py --accesses --ways plain,host,exact,both --ways-traces tests/traces/accesses` records
them anew. What `nvdisasm` prints of their kernels lies beside these: no test runs it.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from expectations import Expectations, Mark
from shared_folders import shared_folder
from streamsan.analysis.inputs import analyse_path
from streamsan.findings.finding import Severity
from streamsan.machine_code import disassembler

FOLDER = Path(__file__).parent / "accesses"
LITMUS = Path(__file__).parents[1] / "litmus"
LIMITS = tomllib.loads((LITMUS / "recorded.toml").read_text(encoding="utf-8"))
LACKS = {"plain": ("unseen", "chance", "host", "exact", "both"), "both": ("unseen", "chance")}
"""way to record -> the tables of recorded.toml that hold for it"""


def recordings(way: str) -> list[Path]:
    return sorted(FOLDER.glob(f"*.{way}.sst"))


def marks_of(program: str) -> Expectations:
    """Return what a program says of itself, or what a recording shows instead."""
    path = next(path for folder in (LITMUS, LITMUS / "recorded") for path in folder.glob(f"{program}.*"))
    instead = LIMITS["instead"].get(program.split(".")[0])
    if instead and ".wrong" in program:
        pairs = (mark.split("@") for mark in instead)
        return Expectations(frozenset((int(line), code) for code, line in pairs), frozenset())
    return Expectations.of(path.read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def _listings(monkeypatch: pytest.MonkeyPatch, remembered: str, listings: dict[bytes, Path]) -> None:
    """Read machine code from what was printed before; remember what was read of it for the other tests here."""

    def printed(command: Sequence[str]) -> bytes:
        image = hashlib.sha256(Path(command[-1]).read_bytes()).digest()
        return listings[image].read_bytes()

    monkeypatch.setenv("XDG_CACHE_HOME", remembered)
    monkeypatch.setattr(disassembler, "disassemblers", lambda: ("nvdisasm",))
    monkeypatch.setattr(disassembler, "printed", printed)


@pytest.fixture(scope="session")
def remembered(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(shared_folder(tmp_path_factory, "remembered"))


@pytest.fixture(scope="session")
def listings() -> dict[bytes, Path]:
    images = (FOLDER / "code").glob("*.cubin")
    return {hashlib.sha256(path.read_bytes()).digest(): path.with_suffix(".json") for path in images}


def complaints(path: Path) -> Iterator[str]:
    """Yield what a recording shows that it should not, and what it does not show.

    A finding outside of the program's file, line 0, is where a thread of a library made the access.
    """
    program, way = path.name.removesuffix(".sst").rsplit(".", 1)
    expected = marks_of(program)
    loud: set[Mark] = set()
    for finding in analyse_path(str(path)).findings:
        inside = Path(finding.location.file).name.startswith(f"{program}.")
        if finding.severity is not Severity.NOTE:
            loud.add((finding.location.line if inside else 0, finding.code))
    tables = [LIMITS[table] for table in LACKS[way]]
    pair = program.split(".")[0]
    outside = {(0, code) for _, code in expected.loud}
    if not any(pair in table for table in tables) and not (expected.loud | outside) & loud and expected.loud:
        yield f"missing: {sorted(expected.loud - loud)}"
    for line, code in sorted(loud - expected.loud - expected.notes - outside):
        yield f"not expected: {code}@{line}"


PAIR = ("right", "wrong")
SLOW = "ss108_adc_ingest_registered"
"""its kernels loop over more than the machine code's reading takes at a step"""


def chosen(way: str, side: str) -> list[object]:
    """Return all recordings of a way; those of the other side are read where there is time."""
    return [
        pytest.param(path, marks=() if f".{side}." in path.name and SLOW not in path.name else pytest.mark.deep)
        for path in recordings(way)
    ]


@pytest.mark.parametrize("path", chosen("both", "right"), ids=lambda path: path.stem)
def test_with_both_options_the_marks_are_shown_and_nothing_else(path: Path) -> None:
    assert list(complaints(path)) == []


@pytest.mark.parametrize("path", chosen("plain", "wrong"), ids=lambda path: path.stem)
def test_a_plain_recording_shows_the_marks_or_has_a_reason(path: Path) -> None:
    assert list(complaints(path)) == []


def test_nobody_is_told_to_free_a_managed_variable() -> None:
    right, wrong = (analyse_path(str(FOLDER / f"ss108_codec_stats_managed.{side}.both.sst")) for side in PAIR)
    assert not [finding for finding in (*right.findings, *wrong.findings) if finding.code == "SS401"]
    (race,) = (finding for finding in wrong.findings if finding.code == "SS108")
    assert "met here, a managed variable" in {each.message for each in race.related}


def test_there_are_recordings_of_both_sides_in_both_ways() -> None:
    for way in LACKS:
        names = {path.name for path in recordings(way)}
        assert len(names) >= 80
        assert {name for name in names if ".wrong." in name} == {
            name.replace(".right.", ".wrong.") for name in names if ".right." in name
        }

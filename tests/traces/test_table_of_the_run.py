"""What the documents say of the pairs that ran on a GPU is what was said of each there (`verdicts.jsonl`)."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
VERDICTS = Path(__file__).parent / "accesses" / "verdicts.jsonl"
POOLS = Path(__file__).parent / "pools" / "verdicts.jsonl"
TWO_DEVICES = Path(__file__).parent / "pools" / "verdicts_two_devices.jsonl"
LITMUS = ROOT / "tests" / "litmus"
LIMITS = tomllib.loads((LITMUS / "recorded.toml").read_text(encoding="utf-8"))
LACKS = {
    "plain": ("unseen", "host", "exact", "both"),
    "host": ("unseen", "exact", "both"),
    "exact": ("unseen", "host", "both"),
    "both": ("unseen",),
}
"""way to record -> the tables of recorded.toml that hold for it"""


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    return loaded("litmus_verdicts")


@pytest.fixture(scope="module")
def public_bugs(bench: ModuleType) -> ModuleType:
    return loaded("public_bugs")


def loaded(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(name, ROOT / "bench" / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module  # its classes look their module up
    specification.loader.exec_module(module)
    return module


def test_the_documents_have_the_table(bench: ModuleType) -> None:
    rows = [row.split("|") for row in bench.table(bench.read(VERDICTS))[2:]]
    costs = (ROOT / "docs" / "costs.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for _, tool, found, noted, false, time, _ in rows:
        assert f"|{tool}|{found}|{noted}|{false}|{time}|" in costs
        assert f"|{tool}|{found}|{false}|" in readme


def test_a_wrong_program_is_found_or_has_a_reason_and_no_right_one_is_reported(bench: ModuleType) -> None:
    for verdict in bench.read(VERDICTS):
        pair = verdict.name.split(".")[0]
        for way, tables in LACKS.items():
            assert verdict.recorded[way].checked
            if verdict.wrong and pair not in LIMITS["chance"]:
                assert verdict.is_loud(way) != any(pair in LIMITS[table] for table in tables), (verdict.name, way)
            elif not verdict.wrong:
                assert not verdict.recorded[way].loud, (verdict.name, way)
                assert verdict.same(way), (verdict.name, way)


def test_the_marks_are_those_of_the_programs(bench: ModuleType) -> None:
    names = {path.stem for folder in (LITMUS, LITMUS / "recorded") for path in folder.glob("ss*.*")}
    assert {verdict.name for verdict in bench.read(VERDICTS)} <= names


@pytest.mark.parametrize("place", [POOLS, TWO_DEVICES], ids=["one_device", "two_devices"])
def test_the_documents_have_the_tables_of_the_pairs_on_pools(
    bench: ModuleType, public_bugs: ModuleType, place: Path
) -> None:
    verdicts = bench.read(place)
    document = (ROOT / "docs" / "public-bugs.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "\n".join(bench.table(verdicts)) in document
    assert "\n".join(public_bugs.table(verdicts)) in document
    for _, tool, found, _, false, _, _ in (row.split("|") for row in bench.table(verdicts)[2:]):
        assert "not in" in found or f"|{tool}|{found}|{false}|" in readme


def test_each_wrong_program_on_pools_computed_wrong_and_is_shown(bench: ModuleType) -> None:
    for verdict in (*bench.read(POOLS), *bench.read(TWO_DEVICES)):
        assert verdict.plain.numbers is not None
        assert (verdict.plain.numbers[0] > 0) == verdict.wrong, verdict.name
        ways = [way for way in verdict.recorded if way not in verdict.unseen]
        assert ways
        for way in ways:
            assert not verdict.missing(way), (verdict.name, way)
            assert not verdict.false(way), (verdict.name, way)


def test_public_bugs_are_named_by_both_programs_of_a_pair(public_bugs: ModuleType) -> None:
    wrong = [path.stem for path in (LITMUS / "pools").glob("*.wrong.py")]
    bugs = {name: bug for name in wrong if (bug := public_bugs.bug_of(name)) is not None}
    assert len({bug for _, bug in bugs.values()}) >= 20
    assert all(public_bugs.bug_of(name.replace(".wrong", ".right")) == bug for name, bug in bugs.items())

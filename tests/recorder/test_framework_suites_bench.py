"""The bench of the frameworks' own tests: which tests a part runs, how each ended, and what counts as different."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

statuses: list[int] = []
"""of the suite's processes"""
BENCH = Path(__file__).resolve().parents[2] / "bench"
SUITE = """
import os, pytest

def test_right(): pass
def test_wrong(): assert 1 == 2
def test_left_out(): pytest.skip("not here")
@pytest.mark.xfail
def test_known(): assert 0
def test_crash(): os._exit(3)
def test_behind(): pass
"""


def _loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def results() -> ModuleType:
    return _loaded("suite_results")


@pytest.fixture
def started(tmp_path: Path) -> object:
    """Return what runs the suite once, and returns the lines written so far."""
    (tmp_path / "test_suite.py").write_text(SUITE)
    lines = tmp_path / "outcomes.jsonl"
    statuses.clear()

    def start(**more: str) -> Path:
        environment = {
            **os.environ,
            "PYTHONPATH": str(BENCH),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "STREAMSAN_OUTCOMES": str(lines),
            **{f"STREAMSAN_{name}": text for name, text in more.items()},
        }
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "outcomes_plugin", "."]
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, check=False)
        statuses.append(done.returncode)
        return lines

    return start


def test_a_crash_is_known_and_the_next_process_goes_on_behind_it(results: ModuleType, started) -> None:  # type: ignore[no-untyped-def]
    first = results.outcomes(started())
    assert list(first.ended.values()) == ["passed", "failed", "skipped", "xfailed"]
    assert first.open == ["test_suite.py::test_crash"]
    assert "1 == 2" in first.why["test_suite.py::test_wrong"]
    whole = results.outcomes(started())
    assert whole.ended["test_suite.py::test_behind"] == "passed"
    assert whole.open == first.open
    assert len(whole.ended) == 5


LOST = """
import sys, types

def synchronize(): raise RuntimeError("CUDA error: an illegal address")

cuda = types.SimpleNamespace(is_initialized=lambda: LOST, synchronize=synchronize)
sys.modules["torch"] = types.SimpleNamespace(cuda=cuda)
LOST = False
def test_fails(): assert 0
def test_wrong():
    global LOST
    LOST = True
    assert 0
def test_behind(): pass
"""


def test_where_the_device_is_lost_the_next_process_goes_on(results: ModuleType, started, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "test_suite.py").write_text(LOST)
    assert list(results.outcomes(started()).ended.values()) == ["failed", "failed"]
    assert list(results.outcomes(started()).ended.values()) == ["failed", "failed", "passed"]
    assert statuses == [results.DEVICE_LOST, 0]


def test_programs_may_have_arguments(tmp_path: Path) -> None:
    (tmp_path / "says.py").write_text("import sys; sys.exit(sys.argv[1:] != ['--steps', '2'])")
    (tmp_path / "no.py").write_text("")
    suites = _loaded("framework_suites")
    scripts = tuple(suites._scripts(tmp_path, ["sa*.py --steps 2"]))
    environment = {**os.environ, "STREAMSAN_SCRIPTS": json.dumps(scripts), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        os.devnull,
        str(BENCH / "script_tests.py"),
    ]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert scripts == ("says.py --steps 2",)
    assert "1 passed" in done.stdout


def test_parts_deal_the_chosen_tests_among_them(results: ModuleType, started) -> None:  # type: ignore[no-untyped-def]
    only = {"ONLY": "right|wrong|known|behind|crash", "LEAVE_OUT": "crash"}
    first = set(results.outcomes(started(PART="1/2", **only)).ended)
    both = set(results.outcomes(started(PART="2/2", **only)).ended)
    assert {name.partition("::test_")[2] for name in first} == {"right", "known"}
    assert {name.partition("::test_")[2] for name in both - first} == {"wrong", "behind"}


def run_of(results: ModuleType, name: str, ended: dict[str, str], opened: list[str]) -> object:
    return results.Run(name, results.Tests(dict(ended), {}, opened))


def test_what_only_one_way_came_to_is_no_difference(results: ModuleType) -> None:
    plain = run_of(results, "plain", {"a": "passed", "b": "failed", "c": "passed", "d": "passed"}, [])
    recorded = run_of(results, "recorded", {"a": "passed", "b": "failed"}, ["c", "d"])
    recorded.stopped = "d"  # type: ignore[attr-defined]
    group = results.GroupResult("suite/group", [results.PartResult(1, plain, recorded)])
    (only,) = group.differing()
    assert (only.test, only.plain, only.recorded, only.steady) == ("c", "passed", "crashed", True)
    again = (run_of(results, name, {"c": "passed"}, []) for name in ("plain", "recorded"))
    group.again = results.PartResult(0, *again)
    (only,) = group.differing()
    assert not only.steady
    row = results.table([group])[2]
    assert row == "| suite/group | 4 | 3 | 0 | 1 | 1 | 0 | 1 | 0 | none |"


def test_errors_and_warnings_are_kept_whole_with_their_recordings(results: ModuleType, tmp_path: Path) -> None:
    folder, out = tmp_path / "runs", tmp_path / "out"
    place = folder / "suite.group.1.recorded"
    place.mkdir(parents=True)
    out.mkdir()
    (place / "run0.sst").write_bytes(b"trace")
    (place / "run0.123.sst").write_bytes(b"child")
    (place / "run0.json").write_text("{}")
    loud = {"code": "SS109", "severity": "error", "location": {"file": "/a/b.py", "line": 3}}
    run = results.Run("suite.group.1.recorded", kept=[place / "run0.sst"])
    run.add({"findings": [loud, {"code": "SS504", "severity": "note"}], "summary": {"operations": 7}})
    group = results.GroupResult("suite/group", [results.PartResult(1, results.Run("plain"), run)])
    results.write_results([group], folder, out)
    (written,) = json.loads((out / "results.json").read_text())["groups"]
    assert written["recorded"][0]["findings"] == [loud]
    assert written["recorded"][0]["notes"] == {"SS504": 1}
    assert "suite.group.1.recorded: SS109 error b.py:3" in results.table([group])
    for name, expected in {"traces": {"run0.sst", "run0.123.sst"}, "reports": {"run0.json"}}.items():
        with tarfile.open(out / f"{name}.tar.gz") as archive:
            assert {Path(each).name for each in archive.getnames()} == expected | {"left_out.txt"}


def test_groups_of_the_list_name_each_suite_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    bench = _loaded("framework_suites")
    (tmp_path / "cupy").mkdir()
    groups = list(bench.listed(tmp_path))
    assert {group.name.partition("/")[0] for group in groups} == {"cupy", "numba-cuda"}
    assert all(group.words for group in groups)


def test_what_was_found_right_is_told_from_what_nobody_looked_at() -> None:
    verdicts = _loaded("suite_verdicts")
    listed = {"code": "SS109", "message": "m", "location": {"file": "/x/test_cuda.py", "line": 2340}}
    new = {"code": "SS109", "message": "m", "location": {"file": "/x/test_cuda.py", "line": 1}}
    other = {"code": "SS101", "message": "m", "location": {"file": "/x/test_cuda.py", "line": 2340}}
    group = {
        "name": "pytorch/cuda",
        "tests": {"a": ["passed", "passed", ""], "b": ["passed", "failed", ""], "c": ["passed", None, ""]},
        "recorded": [{"operations": 7000, "findings": [listed, new, other]}],
    }
    lines = verdicts.table([group])
    assert lines[2] == "| pytorch | 2 | 1 | 7,000 | 3 | 1 | 2 |"
    assert lines[4:] == ["pytorch/cuda: SS109 test_cuda.py:1: m", "pytorch/cuda: SS101 test_cuda.py:2340: m"]
    for each in verdicts.listed():
        assert each["why"].strip()
        assert each["suite"].partition("/")[0] in ("pytorch", "cupy", "rmm", "numba-cuda")

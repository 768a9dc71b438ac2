"""The bench of OpenCL suites: which programs are run, the inputs that they get, and the table."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


def _loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    return _loaded("opencl_suites")


def test_patterns_of_the_list_name_what_a_checkout_has(bench: ModuleType, tmp_path: Path) -> None:
    for name in ("clblast_test_xaxpy", "clblast_test_xasum", "clblast_sample_sgemm_c"):
        (tmp_path / name).touch()
    programs = list(bench.listed([f"CLBlast={tmp_path}"]))
    assert [program.name for program in programs if program.place.is_file()] == [
        "CLBlast/clblast_sample_sgemm_c",
        "CLBlast/clblast_test_xasum",
        "CLBlast/clblast_test_xaxpy",
    ]
    with pytest.raises(SystemExit, match="has no table nothing"):
        list(bench.listed([f"nothing={tmp_path}"]))


def test_a_suite_is_a_row_of_the_table(bench: ModuleType, tmp_path: Path) -> None:
    suite = bench.Suite("pocl", tmp_path, {})
    one, other, unbuilt = (bench.Result(bench.Program(suite, tmp_path / name, {})) for name in "abc")
    one.recorded, one.loud, one.notes = True, ["error SS101 a.c:1: x", "warning SS208 a.c:2: y"], Counter(SS504=2)
    one.seconds, one.processor = (1.0, 1.5), (2.0, 2.0)
    other.different, unbuilt.why_not = "output", "did not build"
    assert list(bench.table([one, other, unbuilt]))[2:] == ["| pocl | 2 | 1 | 1 | 1 | 1 | 2 SS504 | 1.500x | 1.000x |"]


def test_inputs_are_the_same_each_time(tmp_path: Path) -> None:
    inputs = _loaded("opencl_inputs")
    for folder in (tmp_path / "one", tmp_path / "other"):
        inputs.write_inputs(folder)
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert len(files) > 8
    assert all((tmp_path / "one" / path).read_bytes() == (tmp_path / "other" / path).read_bytes() for path in files)

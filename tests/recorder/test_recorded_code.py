"""Machine code of kernels as the recorder keeps it: which images a launch names, and what the run's folder has."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from recorded_scenarios import Scenarios, scenarios_in_all_ways

from sanitized_programs import ENVIRONMENT, UNDER_SANITIZERS
from streamsan.findings.finding import Severity
from streamsan.machine_code.disassembler import disassemblers
from streamsan.trace import Trace, family
from streamsan.trace.view import iterate
from streamsan.vocabulary import MemoryKind, OperationKind

REAL_IMAGE = Path(__file__).parents[1] / "machine_code" / "kernels.sm_90.cubin"
IMAGES = REAL_IMAGE.with_name("image_kernels.sm_90.cubin")
NAME = re.compile(r"[0-9a-f]{32}")


@pytest.fixture(scope="module", params=["plain", *UNDER_SANITIZERS])
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Scenarios:
    return scenarios_in_all_ways(request, tmp_path_factory, "code")


class Run:
    """A scenario that was recorded with a folder for code."""

    def __init__(self, compiled: Scenarios, name: str, folder: Path, mode: int = 0o700) -> None:
        self.folder = folder / f"{name}.code"
        if mode:
            self.folder.mkdir()
            self.folder.chmod(mode)
        path, _ = compiled.record(name, f"code={self.folder}\n")
        self.trace: Trace = family.read(str(path))

    @property
    def codes(self) -> list[tuple[str, ...]]:
        """The names of images that each launch has."""
        views = [view for view in iterate(self.trace) if view.kind is OperationKind.LAUNCH]
        return [self.trace.launch_shapes[view.shape].code for view in views]

    @property
    def kept(self) -> set[str]:
        """The names of the files in the folder, without their suffix."""
        files = os.listdir(self.folder)
        assert all(file.endswith(".cubin") for file in files)
        return {file.removesuffix(".cubin") for file in files}


@pytest.mark.parametrize("name", ["loaded_with_a_library", "loaded_by_the_launch", "asked_for"])
def test_a_launch_names_the_image_of_its_library(name: str, compiled: Scenarios, tmp_path: Path) -> None:
    run = Run(compiled, name, tmp_path)
    assert all(len(code) == 1 for code in run.codes)
    one, two = run.codes[0], run.codes[1]
    assert one != two
    assert run.codes[2:3] in ([], [one])
    assert run.kept == {*one, *two}
    assert all(NAME.fullmatch(kept) for kept in run.kept)
    assert run.trace.metadata["code"] == run.folder.name
    assert "code_left_out" not in run.trace.metadata


def test_code_that_a_later_launch_loads_is_told_with_its_arguments(compiled: Scenarios, tmp_path: Path) -> None:
    run = Run(compiled, "loaded_by_a_later_launch", tmp_path)
    assert [len(code) for code in run.codes] == [0, 0, 0, 0, 1]
    views = [view for view in iterate(run.trace) if view.kind is OperationKind.LAUNCH]
    assert {run.trace.launch_shapes[view.shape].arguments for view in views} == {(0x42).to_bytes(8, "little")}


def test_of_modules_without_an_owner_all_are_named(compiled: Scenarios, tmp_path: Path) -> None:
    run = Run(compiled, "modules_of_one_symbol", tmp_path)
    both, rest = run.codes
    assert len(both) == 2
    assert len(rest) == 1  # the other was unloaded
    assert set(rest) < set(both) < run.kept
    assert len(run.kept) == 3


def test_a_handle_that_comes_back_names_what_was_loaded_last(compiled: Scenarios, tmp_path: Path) -> None:
    before, after, unloaded = Run(compiled, "reloaded", tmp_path).codes
    assert len(before) == len(after) == 1
    assert before != after
    assert unloaded == ()


def test_a_refused_load_is_no_operation(compiled: Scenarios, tmp_path: Path) -> None:
    run = Run(compiled, "refused_loads", tmp_path)
    assert [view.kind for view in iterate(run.trace) if view.status not in (0, None)] == []
    assert run.codes == [()]


@pytest.mark.parametrize("name", ["damaged", "damaged_real_image"])
def test_a_damaged_image_does_no_harm(
    name: str, compiled: Scenarios, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENVIRONMENT, "REAL_IMAGE", str(REAL_IMAGE))
    run = Run(compiled, name, tmp_path)
    assert len(run.codes) == 1
    assert set(run.codes[0]) <= run.kept


def test_an_image_is_kept_as_it_is(compiled: Scenarios, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENT, "REAL_IMAGE", str(REAL_IMAGE))
    run = Run(compiled, "real_image", tmp_path)
    ((name,),) = run.codes
    file = run.folder / f"{name}.cubin"
    assert file.read_bytes() == REAL_IMAGE.read_bytes()
    assert file.stat().st_mode & 0o777 == 0o600


def test_variables_that_code_refers_to_are_memory_before_the_launch(
    compiled: Scenarios, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENVIRONMENT, "REAL_IMAGE", str(REAL_IMAGE))
    run = Run(compiled, "variables", tmp_path)
    views = [view for view in iterate(run.trace) if view.kind in (OperationKind.ALLOC, OperationKind.LAUNCH)]
    kinds = [view.kind for view in views]
    # Once, and again when another library has it.
    assert kinds == [OperationKind.ALLOC, *[OperationKind.LAUNCH] * 3, OperationKind.ALLOC]
    for view in (views[0], views[-1]):
        assert (view.detail, view.size, view.status) == (MemoryKind.DEVICE_SYMBOL, 4, 0)
        assert run.trace.site(view.site).label == "counter"
    assert all(len(code) == 1 for code in run.codes)  # also of the first: the code was loaded before it


def test_a_managed_variable_is_managed_memory_of_the_size_that_the_driver_tells(
    compiled: Scenarios, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENVIRONMENT, "REAL_IMAGE", str(REAL_IMAGE))
    run = Run(compiled, "managed_variable", tmp_path)
    (made,) = [view for view in iterate(run.trace) if view.kind is OperationKind.ALLOC]
    assert (made.detail, made.size, run.trace.site(made.site).label) == (MemoryKind.MANAGED, 4, "counter")


def test_a_variable_is_told_in_each_context(
    compiled: Scenarios, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENVIRONMENT, "REAL_IMAGE", str(REAL_IMAGE))
    run = Run(compiled, "variable_of_two_contexts", tmp_path)
    views = [view for view in iterate(run.trace) if view.kind in (OperationKind.ALLOC, OperationKind.LAUNCH)]
    assert [view.kind.name for view in views] == ["ALLOC", "LAUNCH", "ALLOC", "LAUNCH", "LAUNCH"]
    assert views[0].address != views[2].address


@pytest.mark.skipif(not disassemblers(), reason="no nvdisasm")
def test_memory_behind_a_texture_is_filled_while_a_kernel_reads_it(
    compiled: Scenarios, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(ENVIRONMENT, "REAL_IMAGE", str(IMAGES))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = {}
    for word in ("wrong", "right"):
        name = f"texture_filled_{word}"
        folder = compiled.folder / f"{name}.code"
        folder.mkdir(mode=0o700)
        findings = compiled.check(name, f"code={folder}\n").findings
        found[word] = [(each.code, each.confidence.value) for each in findings if each.severity is not Severity.NOTE]
    assert found == {"wrong": [("SS109", "proven")], "right": []}


def test_what_is_there_is_not_written_again(compiled: Scenarios, tmp_path: Path) -> None:
    first = Run(compiled, "loaded_by_the_launch", tmp_path)
    times = {name: (first.folder / f"{name}.cubin").stat().st_mtime_ns for name in first.kept}
    compiled.record("loaded_by_the_launch", f"code={first.folder}\n")
    assert times == {name: (first.folder / f"{name}.cubin").stat().st_mtime_ns for name in first.kept}


def test_a_node_names_the_code_that_its_instantiation_loaded(compiled: Scenarios, tmp_path: Path) -> None:
    run = Run(compiled, "graph", tmp_path)
    (node,) = [view for view in iterate(run.trace) if view.kind is OperationKind.GRAPH_NODE]
    assert set(run.trace.launch_shapes[node.shape].code) == run.kept
    assert len(run.kept) == 1


@pytest.mark.parametrize(("mode", "reason"), [(0, "No such file"), (0o777, "somebody else's")])
def test_without_a_private_folder_none_is_kept(mode: int, reason: str, compiled: Scenarios, tmp_path: Path) -> None:
    run = Run(compiled, "loaded_with_a_library", tmp_path, mode)
    assert run.codes == [(), (), ()]
    assert reason in run.trace.metadata["code_left_out"]
    assert not mode or not run.kept

"""A recording of OpenCL with a size limit: the newest file alone says what is alive, no more and no less."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from expectations import Expectations
from forked import streamsan
from opencl_runtime import OpenclMachine, compile_program
from streamsan.trace import reader
from streamsan.vocabulary import MemoryKind, OperationKind

SOURCE = Path(__file__).with_name("rotation.c")


def newest_alone(machine: OpenclMachine, folder: Path, mode: str) -> dict[str, Any]:
    """Record the program with a limit; return the report on its newest file alone."""
    program = str(folder / "program")
    compile_program(machine, SOURCE, program)
    ran = machine.run(folder, [program, mode], "-o", "run.sst", "--max-size", "1M", "--no-check", checked=False)
    assert ran.status == 0, ran.errors
    assert (folder / "run.old.sst").exists()
    alone = folder / "alone"
    alone.mkdir()
    shutil.copy(folder / "run.sst", alone / "newest.sst")
    shutil.copytree(folder / "run.code", alone / "run.code")
    checked = streamsan(alone, "check", "--format", "json", "newest.sst")
    assert "Traceback" not in checked.stderr, checked.stderr
    report: dict[str, Any] = json.loads(checked.stdout)
    return report


def loud(report: dict[str, Any]) -> set[tuple[int, str]]:
    return {(each["location"]["line"], each["code"]) for each in report["findings"] if each["severity"] != "note"}


@pytest.mark.deep
def test_the_newest_file_alone_accuses_nobody_falsely(opencl_machine: OpenclMachine, tmp_path: Path) -> None:
    assert loud(newest_alone(opencl_machine, tmp_path, "right")) == set()
    trace = reader.read(str(tmp_path / "alone" / "newest.sst"))
    begin = trace.metadata[reader.BEGINS_AT]
    restated = [slot for chunk in trace.chunks() for slot in chunk if slot["sequence"] < begin and slot["kind"] < 240]
    kinds = [OperationKind(int(slot["kind"])) for slot in restated]
    assert kinds.count(OperationKind.CONTEXT_CREATE) == 1
    assert kinds.count(OperationKind.STREAM_CREATE) == 2
    assert kinds.count(OperationKind.EVENT_CREATE) <= 1
    memory = [MemoryKind(int(slot["detail"])) for slot in restated if slot["kind"] == OperationKind.ALLOC]
    assert sorted(memory) == sorted([MemoryKind.CL_BUFFER] * 3 + [MemoryKind.SVM, MemoryKind.CL_MAPPED])


@pytest.mark.deep
def test_the_newest_file_alone_shows_mistakes_with_what_is_old(opencl_machine: OpenclMachine, tmp_path: Path) -> None:
    report = newest_alone(opencl_machine, tmp_path, "wrong")
    assert loud(report) == Expectations.of(SOURCE.read_text()).loud, report["findings"]

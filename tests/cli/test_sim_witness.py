"""`streamsan sim --witness`."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from streamsan.analysis.inputs import analyse_path
from streamsan.cli import main

pytestmark = pytest.mark.usefixtures("forked_programs")

ROOT = Path(__file__).resolve().parents[2]
LITMUS = ROOT / "tests" / "litmus"
SOURCE = LITMUS / "ss102_two_streams_raii.wrong.cu"
SCRIPT = LITMUS / "ss109_history.wrong.py"


def replayed(report: Path) -> dict[str, str]:
    document = json.loads(report.read_text(encoding="utf-8"))
    jsonschema.validate(document, json.loads((ROOT / "docs" / "findings.schema.json").read_text(encoding="utf-8")))
    return {f["code"]: f["properties"]["replay"] for f in document["findings"] if "replay" in f["properties"]}


def test_a_source_is_checked_and_its_witness_replayed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.json"
    arguments = ["sim", "--witness", "--format", "json", "--report", str(report), str(SOURCE)]
    assert main(arguments) == 0
    assert "they are the next owner's" in replayed(report)["SS102"]
    assert main(["sim", "--witness", "--error-exitcode", "7", "--report", str(report), str(SOURCE)]) == 7
    assert "= replay: `pixels`[0..1023]: 1,024 of 1,024 words" in report.read_text(encoding="utf-8")
    assert capfd.readouterr().out == ""


def test_a_source_of_opencl_is_replayed_too(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    source = LITMUS / "opencl" / "ss103_map_not_awaited.wrong.c"
    assert main(["sim", "--witness", "--format", "json", "--report", str(report), str(source)]) == 0
    assert "1 of 1 words that the host (line 30) reads are wrong" in replayed(report)["SS103"]


def test_a_script_is_run_first(tmp_path: Path) -> None:
    report, trace = tmp_path / "report.json", tmp_path / "run.sst"
    arguments = ["sim", "--witness", "--format", "json", "--report", str(report), "-o", str(trace), str(SCRIPT)]
    assert main(arguments) == 0
    by_script = replayed(report)
    assert "words that the copy" in by_script["SS109"]
    assert main(["sim", "--witness", "--format", "json", "--report", str(report), str(trace)]) == 0
    assert replayed(report) == by_script


def test_without_the_option_nothing_is_replayed(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    assert main(["sim", "--format", "json", "--report", str(report), str(SCRIPT)]) == 0
    assert replayed(report) == {}


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("none.cu", None, "no such file or directory"),
        ("none.sst", None, "no such file or directory"),
        ("bad.sst", b"no trace at all", "is not an .sst trace"),
        ("folder.cu", b"", "no sources or traces in this folder"),
    ],
)
def test_bad_input_is_one_line(
    name: str, content: bytes | None, reason: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    if name.startswith("folder"):
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    assert main(["sim", "--witness", str(path)]) == 2
    error = capfd.readouterr().err
    assert error.count("\n") == 1
    assert name in error
    assert reason in error.lower()


def test_a_source_takes_no_arguments(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "--witness", str(SOURCE), "argument"]) == 2
    assert "is not run" in capfd.readouterr().err


def test_a_folder_is_taken_as_check_takes_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "wrong.cu").write_text(SOURCE.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "run.py").write_text("raise SystemExit(3)", encoding="utf-8")
    assert main(["sim", "--witness", "--error-exitcode", "7", str(tmp_path)]) == 7
    assert "= replay: `pixels`[0..1023]: 1,024 of 1,024 words" in capfd.readouterr().err
    assert main(["sim", str(tmp_path)]) == 2


def test_a_defect_is_one_line(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("half of it\nis missing")

    monkeypatch.delenv("STREAMSAN_DEBUG", raising=False)
    monkeypatch.setattr("streamsan.cli.sim.SimulatedProgram", broken)
    assert main(["sim", str(SCRIPT)]) == 2
    error = capfd.readouterr().err
    assert error.count("\n") == 1
    assert "internal error, please report it: ValueError: half of it is missing" in error
    monkeypatch.setenv("STREAMSAN_DEBUG", "1")
    with pytest.raises(ValueError, match="half of it"):
        main(["sim", str(SCRIPT)])


def test_a_defect_in_one_file_does_not_take_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.cu", "b.cu"):
        (tmp_path / name).write_text(SOURCE.read_text(encoding="utf-8"), encoding="utf-8")

    def sometimes(path: str, *_: object) -> object:
        if path.endswith("a.cu"):
            raise KeyError("a")
        return analyse_path(path)

    monkeypatch.delenv("STREAMSAN_DEBUG", raising=False)
    monkeypatch.setattr("streamsan.checking.every_input.analyse_path", sometimes)
    assert main(["sim", "--witness", str(tmp_path)]) == 2
    error = capfd.readouterr().err
    assert "a.cu: not checked: internal error, please report it: KeyError" in error
    assert "= replay:" in error


def test_memory_that_is_unregistered_is_not_told_as_freed(tmp_path: Path) -> None:
    script, report = tmp_path / "send.py", tmp_path / "report.json"
    script.write_text(
        """\
import numpy as np
from cuda.bindings import runtime

words = np.arange(256, dtype=np.int32)
_, stream = runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking)
_, device = runtime.cudaMalloc(1024)
runtime.cudaHostRegister(words.ctypes.data, 1024, 0)
runtime.cudaMemcpyAsync(device, words.ctypes.data, 1024, runtime.cudaMemcpyKind.cudaMemcpyHostToDevice, stream)
runtime.cudaHostUnregister(words.ctypes.data)
runtime.cudaStreamSynchronize(stream)
runtime.cudaFree(device)
runtime.cudaStreamDestroy(stream)
""",
        encoding="utf-8",
    )
    assert main(["sim", "--witness", "--format", "json", "--report", str(report), str(script)]) == 0
    assert replayed(report)["SS107"].endswith("the host memory is no longer registered")

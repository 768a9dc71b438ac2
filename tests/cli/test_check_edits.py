"""`streamsan check --diff --format json`: each finding with edits of the text as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from streamsan.cli import main
from streamsan.edits.source_text import SourceText
from streamsan.findings.finding import Edit

LITMUS = Path(__file__).parents[1] / "litmus"
SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "findings.schema.json").read_text(encoding="utf-8"))
PROGRAM = """\
#include <cuda_runtime.h>
__global__ void write(float* v) { v[threadIdx.x] = 1.0f; }
int main() {
    cudaStream_t s, t;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    float *v, *w;
    cudaMallocAsync(&v, 1024, s);
    cudaMallocAsync(&w, 1024, s);
    cudaStreamSynchronize(s);
    write<<<1, 32, 0, t>>>(v);
    cudaFreeAsync(v, s);
    write<<<1, 32, 0, t>>>(w);
    cudaFreeAsync(w, s);
    cudaDeviceSynchronize();
}
"""

Run = pytest.CaptureFixture[str]


def report(capsys: Run, *arguments: str) -> tuple[int, dict[str, Any], str]:
    status = main(["check", "--format", "json", *arguments])
    output = capsys.readouterr()
    document = json.loads(output.out)
    jsonschema.validate(document, SCHEMA)
    return status, document, output.err


def edits_of(finding: dict[str, Any]) -> list[Edit]:
    return [Edit(**edit) for edit in finding["fix"]["edits"]]


def test_each_edit_puts_its_finding_right_by_itself(tmp_path: Path, capsys: Run) -> None:
    path = tmp_path / "a.cu"
    path.write_text(PROGRAM, encoding="utf-8")
    status, document, err = report(capsys, "--diff", str(path))
    assert (status, err) == (1, "")
    loud = [finding for finding in document["findings"] if finding["severity"] != "note"]
    assert len(loud) == 2
    for finding in loud:
        assert finding["fix"]["verified"]
        assert finding["no_fix"] == ""
        path.write_bytes(SourceText(PROGRAM.encode()).edited(edits_of(finding)))
        _, after, _ = report(capsys, str(path))
        left = [each["message"] for each in after["findings"] if each["severity"] != "note"]
        assert left == [each["message"] for each in loud if each is not finding]


def test_edits_of_all_findings_can_be_made_together(tmp_path: Path, capsys: Run) -> None:
    path = tmp_path / "a.cu"
    path.write_text(PROGRAM, encoding="utf-8")
    _, document, _ = report(capsys, "--diff", str(path))
    every = [edit for each in document["findings"] if each["severity"] != "note" for edit in edits_of(each)]
    path.write_bytes(SourceText(PROGRAM.encode()).edited(every))
    assert report(capsys, str(path))[0] == 0


def test_without_diff_there_are_no_edits(tmp_path: Path, capsys: Run) -> None:
    path = tmp_path / "a.cu"
    path.write_text(PROGRAM, encoding="utf-8")
    _, document, _ = report(capsys, str(path))
    assert all(not finding["fix"]["edits"] for finding in document["findings"] if finding["fix"])
    assert path.read_text(encoding="utf-8") == PROGRAM


def test_edits_of_several_steps_are_of_the_text_as_it_is(tmp_path: Path, capsys: Run) -> None:
    hardware = Path(__file__).parents[1] / "hardware" / "ss101_use_after_ordered_free.cu"
    path = tmp_path / "a.cu"
    path.write_bytes(hardware.read_bytes())
    _, document, _ = report(capsys, "--diff", str(path))
    finding = next(each for each in document["findings"] if each["code"] == "SS101")
    path.write_bytes(SourceText(hardware.read_bytes()).edited(edits_of(finding)))
    assert report(capsys, str(path))[0] == 0


def test_a_finding_without_an_edit_says_why(capsys: Run) -> None:
    _, document, _ = report(capsys, "--diff", str(LITMUS / "ss106_reset_before_join.wrong.cu"))
    loud = [finding for finding in document["findings"] if finding["severity"] != "note"]
    assert [finding["properties"]["no_edit"] for finding in loud] == [
        "how the other thread comes to its end is the program's decision"
    ]


def test_a_trace_has_no_edits_and_says_so(capsys: Run) -> None:
    trace = next((Path(__file__).parents[1] / "traces" / "h200").glob("ss102*wrong*.sst"))
    _, document, _ = report(capsys, "--diff", str(trace))
    for finding in document["findings"]:
        assert finding["properties"]["no_edit"].startswith("edits need source")


def test_a_right_program_has_no_edits_to_errors(capsys: Run) -> None:
    status, document, _ = report(capsys, "--diff", str(LITMUS / "ss102_fan_out_one_event.right.cu"))
    assert status == 0
    assert all(finding["severity"] == "note" for finding in document["findings"])


def test_a_defect_is_one_line(tmp_path: Path, capsys: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(source: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("streamsan.cli.seeker.fixes_of", fail)
    monkeypatch.setattr("streamsan.cli.seeker.fixes_of_each", fail)
    monkeypatch.delenv("STREAMSAN_DEBUG", raising=False)
    path = tmp_path / "a.cu"
    path.write_text(PROGRAM, encoding="utf-8")
    for options in (["--diff"], ["--diff", "--format", "json"], ["--fix"]):
        assert main(["check", *options, str(path)]) == 2
        assert "internal error, please report it: ZeroDivisionError: a defect" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == PROGRAM

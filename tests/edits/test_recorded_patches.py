"""Patches of recorded Python programs: what was recorded on a GPU, patched by its trace and text alone."""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path

import pytest

from streamsan.cli import main

TESTS = Path(__file__).parents[1]
PROGRAMS = TESTS / "litmus" / "pools"
TRACES = TESTS / "traces" / "pools"
RECORDED = "/home/user/streamsan"
"""where the programs lay when they were recorded"""

ADDED = {
    "ss105_bucket": (10, "        flat.record_stream(comm)"),
    "ss105_offload": (15, "            activation.record_stream(self.out)"),
    "ss105_prefetch": (24, "            batch.record_stream(torch.cuda.current_stream())"),
}
"""the line behind which a patch puts a line"""
OTHERS = {
    "ss109_bindings_counter_reset": (70, "        ok(driver.cuStreamWaitEvent(self.reset, self.tallied, 0))"),
    "ss109_bindings_frame_halves": (65, "        check(runtime.cudaStreamWaitEvent(self.download, self.filled, 0))"),
    "ss108_cupy_pinned_spectra": (52, "        self.stream.synchronize()"),
    "ss108_torch_pinned_loader": (45, "            self.copy_stream.synchronize()"),
}
"""the same of programs that were recorded with what their kernels touch"""
SEEN_BY_HOST = {
    "ss108_cudf_staging": (25, "    stream.synchronize()"),
    "ss108_vllm_embed_mask": (20, "        torch.cuda.default_stream().synchronize()"),
}
"""the same of programs that were recorded with what the host does to pinned memory"""
AS_THE_TWIN = ("ss105_offload", "ss105_prefetch")
"""programs whose right twin does the same; that of the other one lets the next owner wait"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the programs in the places that the recordings name, below the current folder."""
    shutil.copytree(PROGRAMS, tmp_path / "tests" / "litmus" / "pools")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(name: str, folder: Path, *options: str) -> int:
    words = ["check", "--jobs", "1", "--source-root", f"{RECORDED}={folder}", *options]
    return main([*words, str(TRACES / f"{name}.sst")])


def waits(text: str) -> list[str]:
    """The statements of a program that order anything, without their places in blocks."""
    words = ("record_stream", "wait_stream", "wait_event", "synchronize", "record_event")
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    return sorted(
        ast.unparse(call) for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in words
    )


@pytest.mark.parametrize("name", ADDED)
def test_a_patch_puts_one_line_in(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = folder / "tests" / "litmus" / "pools" / f"{name}.wrong.py"
    before = program.read_text().split("\n")
    assert check(f"{name}.wrong", folder, "--fix") == 0
    line, text = ADDED[name]
    assert program.read_text().split("\n") == [*before[:line], text, *before[line:]]
    err = capsys.readouterr().err
    assert "verified on the recording's order; the program was not run again" in err
    assert "record the program again" in err


@pytest.mark.parametrize("name", SEEN_BY_HOST)
def test_a_patch_lets_the_host_wait_for_a_copy(name: str, folder: Path) -> None:
    program = folder / "tests" / "litmus" / "pools" / f"{name}.wrong.py"
    before = program.read_text().split("\n")
    assert check(f"{name}.wrong.host", folder, "--fix") == 0
    line, text = SEEN_BY_HOST[name]
    assert program.read_text().split("\n") == [*before[:line], text, *before[line:]]


@pytest.mark.parametrize("name", OTHERS)
def test_a_patch_writes_waits_as_the_framework_does(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "tests" / "litmus" / "recorded"
    folder.mkdir(parents=True)
    program = Path(shutil.copy(TESTS / "litmus" / "recorded" / f"{name}.wrong.py", folder))
    monkeypatch.chdir(tmp_path)
    before = program.read_text().split("\n")
    trace = str(TESTS / "traces" / "accesses" / f"{name}.wrong.both.sst")
    roots = f"{RECORDED}={tmp_path}"
    main(["check", "--jobs", "1", "--source-root", roots, "--select", name[:5].upper(), "--fix", trace])
    line, text = OTHERS[name]
    assert program.read_text().split("\n") == [*before[:line], text, *before[line:]]


@pytest.mark.parametrize("name", AS_THE_TWIN)
def test_a_patched_program_waits_as_its_right_twin(name: str, folder: Path) -> None:
    program = folder / "tests" / "litmus" / "pools" / f"{name}.wrong.py"
    check(f"{name}.wrong", folder, "--fix")
    assert waits(program.read_text()) == waits((PROGRAMS / f"{name}.right.py").read_text())


def test_a_diff_names_the_file_below_the_current_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("ss105_bucket.wrong", folder, "--diff") == 1
    out = capsys.readouterr().out
    assert out.startswith("--- a/tests/litmus/pools/ss105_bucket.wrong.py\n")
    assert [line for line in out.split("\n")[2:] if line.startswith(("+", "-"))] == [f"+{ADDED['ss105_bucket'][1]}"]


def test_json_has_the_edit_of_a_finding(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check("ss105_offload.wrong", folder, "--diff", "--format", "json")
    findings = json.loads(capsys.readouterr().out)["findings"]
    (found,) = [finding for finding in findings if finding["code"] == "SS105"]
    (edit,) = found["fix"]["edits"]
    assert (edit["line"], edit["text"].strip()) == (16, "activation.record_stream(self.out)")
    assert "not run again" in found["fix"]["summary"]
    assert all("no_edit" in finding["properties"] for finding in findings if finding is not found)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("        torch.cuda._sleep(4_000_000)\n", "        torch.cuda._sleep(5)\n", "line 9 of"),
        ("import torch\n", "import torch\n\n", "is not what was recorded"),
    ],
)
def test_a_text_that_is_another_one_is_not_edited(
    old: str, new: str, reason: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = folder / "tests" / "litmus" / "pools" / "ss105_bucket.wrong.py"
    program.write_text(program.read_text().replace(old, new, 1))
    assert check("ss105_bucket.wrong", folder, "--diff") == 0
    out, err = capsys.readouterr()
    assert (out, reason in err, err.count("SS105")) == ("", True, 1)


def test_a_comment_behind_a_line_may_have_come(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = folder / "tests" / "litmus" / "pools" / "ss105_bucket.wrong.py"
    program.write_text(program.read_text().replace("_sleep(4_000_000)", "_sleep(4_000_000)  # so that it is late"))
    assert check("ss105_bucket.wrong", folder, "--diff") == 1


def test_files_outside_the_current_folder_are_not_edited(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    assert check("ss105_bucket.wrong", folder, "--diff") == 0
    assert "lies outside the current folder" in capsys.readouterr().err


def test_what_cannot_be_written_says_why(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("ss303_dropped_input.wrong", folder, "--diff") == 0
    assert "SS303: no automatic edit: " in capsys.readouterr().err


def test_a_wait_that_adds_nothing_is_taken_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "ss108_cupy_pinned_spectra.right"
    folder = tmp_path / "tests" / "litmus" / "recorded"
    folder.mkdir(parents=True)
    program = Path(shutil.copy(TESTS / "litmus" / "recorded" / f"{name}.py", folder))
    monkeypatch.chdir(tmp_path)
    before = program.read_text().split("\n")
    trace = str(TESTS / "traces" / "accesses" / f"{name}.both.sst")
    main(["check", "--jobs", "1", "--source-root", f"{RECORDED}={tmp_path}", "--select", "SS504", "--fix", trace])
    assert before[62].strip() == "monitor.stream.synchronize()"
    assert program.read_text().split("\n") == [*before[:62], *before[63:]]


@pytest.mark.parametrize(
    "options", [("--diff", "--fix"), ("--diff", "--no-check", "-o", "a.sst"), ("--fix", "--no-fixes")]
)
def test_options_that_exclude_each_other_are_refused(options: tuple[str, ...]) -> None:
    assert main(["run", *options, "--", "true"]) == 2

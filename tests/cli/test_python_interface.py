"""`import streamsan`: what the documentation of the package shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import streamsan
from fake_device import FakeDevice
from streamsan.trace import TraceBuilder
from streamsan.trace.writer import write
from streamsan.vocabulary import OperationKind

LEAK = "#include <cuda_runtime.h>\nint main() { void* p;\ncudaMalloc(&p, SIZE);\nreturn 0; }\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "leak.cu"
    path.write_text(LEAK, encoding="utf-8")
    return path


def test_a_check_gives_a_report(source: Path) -> None:
    report = streamsan.check(source, defines={"SIZE": "4"}, severity={"SS4": "warning"})
    (finding,) = report.findings
    assert isinstance(report, streamsan.Report)
    assert isinstance(finding, streamsan.Finding)
    assert (finding.code, finding.severity, finding.location.line) == ("SS401", streamsan.Severity.WARNING, 3)
    assert json.loads(streamsan.render(report, "json"))["summary"]["warnings"] == 1
    assert streamsan.render(report).startswith("warning[SS401]")


def test_options_are_those_of_the_command_line(source: Path, tmp_path: Path) -> None:
    plain = streamsan.check([source])
    assert len(plain.findings) == 1
    base = tmp_path / "base.json"
    base.write_text(streamsan.render(plain, "json"), encoding="utf-8")
    assert streamsan.check(tmp_path, baseline=base).in_baseline == 1
    assert not streamsan.check(tmp_path, exclude=["leak.cu"]).files
    assert not streamsan.check(tmp_path, ignore=["SS4"]).findings
    assert not streamsan.check(tmp_path, per_path_ignores={"*.cu": ["SS401"]}).findings
    known = tmp_path / "known.txt"
    known.write_text("SS401 leak.cu\n", encoding="utf-8")
    assert streamsan.check(tmp_path, suppressions=[known]).suppressed == 1


def test_what_cannot_be_read_is_a_problem_of_the_report(source: Path) -> None:
    report = streamsan.check([source, "gone.cu"])
    assert [(problem.file, problem.message) for problem in report.problems] == [
        ("gone.cu", "no such file or directory")
    ]
    assert report.files == 1


@pytest.mark.parametrize("options", [{"select": ["SS9"]}, {"severity": {"SS1": "fatal"}}, {"baseline": "gone.json"}])
def test_a_wrong_option_is_an_error_of_its_own(source: Path, options: dict[str, object]) -> None:
    with pytest.raises(streamsan.OptionError):
        streamsan.check(source, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown format 'pdf'"):
        streamsan.render(streamsan.check(source), "pdf")


def test_what_cannot_be_recorded_is_an_error_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for command, output, reason in (
        ([], "a.sst", "no command"),
        (["true"], "a.txt", "does not end in .sst"),
    ):
        with pytest.raises(streamsan.RecordingError, match=reason):
            streamsan.record(command, tmp_path / output)


def test_a_program_is_recorded_and_checked(fake_device: FakeDevice, tmp_path: Path) -> None:
    script = tmp_path / "record.py"
    script.write_text(
        "import streamsan, sys\n"
        "run = streamsan.record([sys.argv[1], 'double_free_wrong'], 'run.sst')\n"
        "print(run.status, run.trace, run.omissions)\n"
        "print([finding.code for finding in streamsan.check(run.trace).findings])\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, script, fake_device.programs],
        cwd=tmp_path,
        env=fake_device.environment(PYTHONPATH=os.pathsep.join(sys.path)),
        capture_output=True,
        text=True,
        check=True,
    )
    *_, recorded, codes = done.stdout.splitlines()
    assert recorded.endswith("run.sst ()")
    assert codes == "['SS201']"


def test_a_program_is_recorded_without_names(fake_device: FakeDevice, tmp_path: Path) -> None:
    script = (
        "import streamsan, sys\n"
        "run = streamsan.record([sys.argv[1], 'double_free_wrong'], 'run.sst', redact=True)\n"
        "print([finding.code for finding in streamsan.check(run.trace, source_roots=[sys.argv[2]]).findings])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, fake_device.programs, tmp_path],
        cwd=tmp_path,
        env=fake_device.environment(PYTHONPATH=os.pathsep.join(sys.path)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "['SS201']"
    assert str(fake_device.folder).encode() not in (tmp_path / "run.sst").read_bytes()


def test_importing_loads_no_part_of_the_tool() -> None:
    script = "import sys, streamsan; print(*[m for m in sys.modules if m in ('click', 'rich', 'numpy', 'tree_sitter')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
    assert "check" in dir(streamsan)
    with pytest.raises(AttributeError):
        streamsan.nothing  # noqa: B018


def test_a_check_of_a_right_trace_loads_no_second_pass_and_no_patterns(tmp_path: Path) -> None:
    builder = TraceBuilder("synthetic")
    builder.append(OperationKind.CONTEXT_SYNCHRONIZE, thread=builder.thread(0, "main"))
    write(builder.finish(), str(tmp_path / "right.sst"))
    script = (
        "import sys, streamsan; print(streamsan.check(sys.argv[1]).findings);"
        "print(*[m for m in sys.modules if m in ('streamsan.evidence.second_pass', 'pathspec', 'tree_sitter')])"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "right.sst")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["()"]


@pytest.mark.parametrize(("verb", "threads"), [("check", "1"), ("run", "None"), ("sim", "None")])
def test_only_verbs_that_run_no_program_keep_numpy_from_starting_threads(verb: str, threads: str) -> None:
    script = (
        "import os, sys, click; from streamsan.cli.verbs import streamsan;"
        "assert 'numpy' not in sys.modules;"
        "streamsan.get_command(click.Context(streamsan), sys.argv[1]);"
        "print(os.environ.get('OPENBLAS_NUM_THREADS'))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    command = [sys.executable, "-c", script, verb]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == threads

"""`streamsan sim --diff` and `--fix`: patches of Python programs that apply, each edit tried by running the program."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from streamsan.cli import main
from streamsan.cli.simulated import SimulatedProgram
from streamsan.python_program.visible_names import read, seen_from
from streamsan.sim import overlay
from streamsan.sim.options import Driver, SimulationOptions

pytestmark = pytest.mark.usefixtures("forked_programs")

HELPER = """\
from cuda.bindings import runtime as cudart


def ok(result):
    status, *rest = result
    if status != cudart.cudaError_t.cudaSuccess:
        raise RuntimeError(status)
    return rest[0] if rest else None


class Buffer:
    def __init__(self, nbytes, stream):
        self.stream = stream
        self.pointer = ok(cudart.cudaMallocAsync(nbytes, stream))

    def close(self):
        ok(cudart.cudaFreeAsync(self.pointer, self.stream))
"""
PROGRAM = """\
import sys

from cuda.bindings import runtime as cudart
from helper import Buffer, ok


def main():
    first = ok(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))
    second = ok(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))
    buffer = Buffer(4096, first)
    ok(cudart.cudaStreamSynchronize(first))
    ok(cudart.cudaMemsetAsync(buffer.pointer, 1, 4096, second))
    buffer.close()
    ok(cudart.cudaDeviceSynchronize())
    print("ran", *sys.argv[1:], sys.stdin.read().strip())
    sys.exit(3)


main()
"""
EVENT = """\
    streamsan_event = ok(cudart.cudaEventCreateWithFlags(cudart.cudaEventDisableTiming))
    ok(cudart.cudaEventRecord(streamsan_event, second))
    ok(cudart.cudaStreamWaitEvent(buffer.stream, streamsan_event, 0))
    ok(cudart.cudaEventDestroy(streamsan_event))
"""
FIXED = PROGRAM.replace("    buffer.close()\n", f"{EVENT}    buffer.close()\n")

Run = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("helper.py").write_text(HELPER, encoding="utf-8")
    Path("program.py").write_text(PROGRAM, encoding="utf-8")


def run(capfd: Run, *arguments: str) -> tuple[int, str, str]:
    status = main(["sim", *arguments])
    output = capfd.readouterr()
    assert "Traceback" not in output.err
    return status, output.out, output.err


def test_a_patch_is_all_of_standard_output_and_applies(capfd: Run) -> None:
    before = {path: path.read_bytes() for path in Path().iterdir()}
    status, patch, said = run(capfd, "--diff", "program.py", "a", "--b")
    assert status == 3
    assert patch.startswith("--- a/program.py\n")
    assert "ran a --b" in said
    assert "SS102: fix: before line 13: ok(cudart.cudaEventRecord(streamsan_event, second))" in said
    assert said.count("ran") == 1
    assert {path: path.read_bytes() for path in before} == before
    subprocess.run(["git", "apply"], input=patch.encode(), check=True)
    assert Path("program.py").read_text(encoding="utf-8") == FIXED


def test_a_fix_is_written_and_its_program_is_reported(capfd: Run) -> None:
    os.chmod("program.py", 0o750)
    status, output, said = run(capfd, "--fix", "program.py")
    assert (status, output) == (3, "ran \n")
    assert Path("program.py").read_text(encoding="utf-8") == FIXED
    assert stat.S_IMODE(os.stat("program.py").st_mode) == 0o750
    assert "helper.py:17: SS102: fixed: before line 13" in said
    assert said.endswith("0 errors, 0 warnings, 0 notes in 1 file, 16 operations\n")
    assert Path("helper.py").read_text(encoding="utf-8") == HELPER
    again = run(capfd, "--diff", "program.py")
    assert again[:2] == (3, "")


def test_other_bytes_of_a_file_stay(capfd: Run) -> None:
    text = "# coding: latin-1\n# gr\u00f6\u00dfer\n" + PROGRAM
    Path("program.py").write_bytes(text.replace("\n", "\r\n").encode("latin-1"))
    run(capfd, "--fix", "program.py")
    expected = text.replace(PROGRAM, FIXED).replace("\n", "\r\n").encode("latin-1")
    assert Path("program.py").read_bytes() == expected


def test_a_module_of_a_package_is_run_and_edited(capfd: Run) -> None:
    Path("package").mkdir()
    Path("package/__init__.py").touch()
    Path("package/main.py").write_text(PROGRAM, encoding="utf-8")
    status, patch, _ = run(capfd, "--diff", "-m", "package.main")
    assert status == 3
    assert patch.startswith("--- a/package/main.py\n")


def test_json_has_the_edits_of_each_finding(capfd: Run) -> None:
    _, output, _ = run(capfd, "--diff", "--format", "json", "program.py")
    (finding,) = json.loads(output)["findings"]
    assert finding["fix"]["verified"]
    assert finding["fix"]["edits"] == [
        {"file": "program.py", "line": 13, "column": 1, "end_line": 13, "end_column": 1, "text": EVENT}
    ]


def test_json_says_why_there_is_no_edit(capfd: Run) -> None:
    text = PROGRAM.replace("    buffer.close()\n", "").replace("    sys.exit(3)\n", "")
    Path("program.py").write_text(text, encoding="utf-8")
    _, output, _ = run(capfd, "--diff", "--format", "json", "--report", "r.json", "program.py")
    assert output == ""
    (finding,) = json.loads(Path("r.json").read_text(encoding="utf-8"))["findings"]
    assert finding["code"] == "SS401"
    reason = "where the memory is needed for the last time is the program's decision"
    assert finding["properties"]["no_edit"] == reason


def test_a_file_that_may_not_be_written_is_not_edited(capfd: Run) -> None:
    os.chmod("program.py", 0o400)
    os.chmod("helper.py", 0o400)
    _, patch, said = run(capfd, "--diff", "program.py")
    assert patch == ""
    assert "no automatic edit: the edit would be in program.py, which may not be written" in said


def test_installed_modules_are_not_edited(capfd: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path("site-packages")
    folder.mkdir()
    Path("program.py").rename(folder / "installed.py")
    Path("helper.py").rename(folder / "helper.py")
    Path("program.py").write_text("import installed\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder.resolve()), os.environ.get("PYTHONPATH", "")]))
    status, patch, said = run(capfd, "--diff", "program.py")
    assert (status, patch) == (3, "")
    assert "SS102: no automatic edit" in said


def test_only_selected_findings_are_edited(capfd: Run) -> None:
    assert run(capfd, "--diff", "--select", "SS109", "program.py")[:2] == (3, "")


def test_an_edit_that_changes_how_the_program_ends_is_not_taken(capfd: Run) -> None:
    text = PROGRAM.replace(
        "    sys.exit(3)\n", "    sys.exit(4 if 'streamsan_event' in main.__code__.co_varnames else 3)\n"
    )
    Path("program.py").write_text(text, encoding="utf-8")
    _, patch, said = run(capfd, "--diff", "program.py")
    assert "SS102: fix: " in said
    assert "streamsan_event" not in patch
    assert "Synchronize" in patch


def test_both_ways_at_once_are_refused(capfd: Run) -> None:
    status, _, said = run(capfd, "--diff", "--fix", "program.py")
    assert status == 2
    assert "give one of them" in said


def test_sources_have_edits_of_their_own(capfd: Run) -> None:
    Path("a.cu").write_text("int main() {}\n", encoding="utf-8")
    status, _, said = run(capfd, "--witness", "--diff", "a.cu")
    assert status == 2
    assert "`streamsan check` has its own --diff and --fix" in said


def test_a_script_that_fails_has_no_patch(capfd: Run) -> None:
    Path("program.py").write_text("import sys\nsys.exit(5)\n", encoding="utf-8")
    status, patch, said = run(capfd, "--diff", "program.py")
    assert (status, patch, said) == (5, "", "")


def test_standard_input_from_a_file_is_the_same_in_each_run(tmp_path: Path) -> None:
    text = PROGRAM.replace("    ok(cudart.cudaDeviceSynchronize())\n", "").replace(
        "def main():\n", "def main():\n    assert sys.stdin.readline() == 'words\\n'\n"
    )
    Path("program.py").write_text(text, encoding="utf-8")
    Path("words").write_text("words\nmore\n", encoding="utf-8")
    options = SimulationOptions(0, Driver.CONTRACT, 1)
    with open("words", encoding="utf-8") as words:
        kept = os.dup(0)
        os.dup2(words.fileno(), 0)
        try:
            program = SimulatedProgram("script", ["program.py"], options, "")
            statuses = [program.run(output=2).status, program.run_again({}).status, program.run_again({}).status]
        finally:
            os.dup2(kept, 0)
            os.close(kept)
    assert statuses == [3, 3, 3]


def test_texts_take_the_place_of_files_without_being_written(tmp_path: Path) -> None:
    program = SimulatedProgram("script", ["program.py"], SimulationOptions(0, Driver.CONTRACT, 1), "")
    new = PROGRAM.replace("sys.exit(3)", "sys.exit(7)").encode()
    assert program.run_again({os.path.realpath("program.py"): new}).status == 7
    helper = HELPER.replace("def close(self):", "def close(self):\n        raise SystemExit(9)").encode()
    assert program.run_again({os.path.realpath("helper.py"): helper}).status == 9
    assert program.run_again({}).status == 3


def test_what_a_frame_can_name_is_looked_at_without_running_anything() -> None:
    class Stored:
        def __init__(self) -> None:
            self.inner = {"key": 1 << 20}

        @property
        def other(self) -> int:
            raise AssertionError("ran")

        def __getattr__(self, name: str) -> int:
            raise AssertionError("ran")

        @property  # type: ignore[misc]
        def __class__(self) -> type:
            raise AssertionError("ran")

    def function() -> list[list[str | int]]:
        import sys

        kept = Stored()
        numbers = [1 << 21, 5]
        seen = seen_from(sys._getframe())
        assert kept.inner
        assert numbers
        return seen

    seen = function()
    assert ["kept.inner['key']", "int", 1 << 20] in seen
    assert ["numbers[0]", "int", 1 << 21] in seen
    assert ["kept", "local", 0] in seen


def test_lines_that_were_cut_off_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "names.7").write_text('{"sequence": 1}\n{"sequ', encoding="utf-8")
    assert read(str(tmp_path)) == [{"sequence": 1}]


def test_a_folder_without_texts_changes_nothing(tmp_path: Path) -> None:
    assert not overlay.install(str(tmp_path))

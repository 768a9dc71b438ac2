"""`streamsan run`: how programs are started, what is said, how it ends. On the fake device, or with none at all."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from fake_device import SECONDS, FakeDevice
from forked import streamsan
from streamsan.cli import verbs
from streamsan.recorder.environment import COLLECTIVES, HEAPS, INJECTION, SETTINGS
from streamsan.recorder.injection import recorder_library
from streamsan.recorder.opencl_layer import LAYERS
from streamsan.trace import Thread
from streamsan.trace.reader import read
from streamsan.trace.writer import TraceWriter


def test_this_installation_has_a_recorder() -> None:
    assert recorder_library() is not None


def run(
    folder: Path, *arguments: str, environment: dict[str, str] | None = None, text: str = ""
) -> subprocess.CompletedProcess[str]:
    return streamsan(folder, "run", *arguments, environment=environment or machine_without_driver(folder), text=text)


def machine_without_driver(folder: Path) -> dict[str, str]:
    """Return an environment in which no driver can be loaded, whatever this machine has."""
    broken = folder / "no-driver"
    broken.mkdir(exist_ok=True)
    (broken / "libcuda.so.1").write_bytes(b"")
    return {**os.environ, "LD_LIBRARY_PATH": str(broken)}


# -- starting programs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["sh", "-c", "exit 3"], ["/bin/sh", "-c", "exit 3"], ["--", "sh", "-c", "exit 3"]])
def test_the_exit_status_is_the_programs(command: list[str], tmp_path: Path) -> None:
    assert run(tmp_path, *command).returncode == 3


def test_a_machine_without_a_driver_is_one_line_and_the_program_runs(tmp_path: Path) -> None:
    # In a process of its own: where libraries are looked for is decided as it starts.
    command = [sys.executable, "-m", "streamsan", "run", "--", "sh", "-c", "echo ran; exit 4"]
    done = subprocess.run(command, env=machine_without_driver(tmp_path), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (4, "ran\n")
    assert done.stderr == (
        "streamsan: nothing recorded: sh used neither CUDA nor OpenCL; "
        "there is no CUDA driver (libcuda.so.1) on this machine\n"
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
def test_death_by_a_signal_is_passed_on(number: signal.Signals, tmp_path: Path) -> None:
    assert run(tmp_path, "--", "sh", "-c", f"kill -{int(number)} $$").returncode == -number


@pytest.mark.parametrize(("disposition", "status"), [(signal.SIG_DFL, -signal.SIGINT), (signal.SIG_IGN, 0)])
def test_an_interrupt_ends_the_program_unless_the_caller_ignores_it(
    disposition: signal.Handlers, status: int, tmp_path: Path
) -> None:
    program = ["sh", "-c", "kill -INT $$"]
    for command in (program, [sys.executable, "-m", "streamsan", "run", "--", *program]):
        environment = machine_without_driver(tmp_path)
        caller = partial(signal.signal, signal.SIGINT, disposition)
        assert subprocess.run(command, env=environment, preexec_fn=caller, timeout=SECONDS).returncode == status


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    done = run(tmp_path, "--", "no-such-program")
    assert (done.returncode, done.stderr) == (127, "streamsan: no-such-program: command not found\n")
    done = run(tmp_path, "--", "./missing")
    assert (done.returncode, done.stderr) == (127, "streamsan: ./missing: no such file or directory\n")


def test_a_program_that_cannot_be_executed(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("x")
    done = run(tmp_path, "--", "./data")
    assert (done.returncode, done.stderr) == (126, "streamsan: ./data: permission denied\n")
    assert run(tmp_path, "--", str(tmp_path)).returncode == 126


def test_a_script_without_an_interpreter_line_runs_in_the_shell(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("echo $1 $0; exit 7\n")
    script.chmod(0o755)
    done = run(tmp_path, "--", "./script", "argument")
    assert (done.returncode, done.stdout) == (7, "argument ./script\n")


def test_only_the_five_variables_are_added(tmp_path: Path) -> None:
    environment = machine_without_driver(tmp_path)
    alone = subprocess.run(["env"], env=environment, capture_output=True, text=True).stdout.splitlines()
    done = run(tmp_path, "--", "env", environment=environment)
    added = set(done.stdout.splitlines()) - set(alone)
    lines = {line.partition("=")[0] for line in added if line.partition("=")[0].isupper()}
    assert lines == {COLLECTIVES, HEAPS, INJECTION, LAYERS, SETTINGS}
    assert set(alone) <= set(done.stdout.splitlines())


def test_the_c_locale_stays_what_it_was(tmp_path: Path) -> None:
    environment = machine_without_driver(tmp_path)
    for name in [name for name in environment if name.startswith("LC_") or name == "LANG"]:
        del environment[name]
    done = run(tmp_path, "--", "sh", "-c", "echo ${LC_CTYPE-unset}", environment=environment)
    assert done.stdout == "unset\n"


def test_input_descriptors_and_dispositions_are_inherited(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    script = f"cat; echo three >&{writing}; grep -E '^Sig(Blk|Ign)' /proc/$$/status"
    environment = machine_without_driver(tmp_path)

    def seen(command: Sequence[str]) -> tuple[str, str]:
        done = subprocess.run(
            command, input="in\n", pass_fds=[writing], env=environment, capture_output=True, text=True, cwd=tmp_path
        )
        return done.stdout, os.read(reading, 100).decode()

    program = ["bash", "-c", script]
    assert seen([sys.executable, "-m", "streamsan", "run", "--", *program]) == seen(program)
    os.close(reading)
    os.close(writing)


def test_a_request_to_end_reaches_the_program(tmp_path: Path) -> None:
    script = "trap 'echo asked; exit 9' TERM USR1; echo ready; while :; do sleep 0.01; done"
    for number in (signal.SIGTERM, signal.SIGUSR1):
        process = subprocess.Popen(
            [sys.executable, "-m", "streamsan", "run", "--", "sh", "-c", script],
            env=machine_without_driver(tmp_path),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.stdout.read() == "asked\n"
        assert process.wait(SECONDS) == 9


def test_a_request_that_another_thread_takes_reaches_the_program() -> None:
    # Python runs handlers in the main thread, which waits in the system and sees nothing of this signal.
    caller = """
import signal, sys, threading
from streamsan.recorder.child_process import run_program
latch = threading.Event()
threading.Thread(target=latch.wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGCHLD), signal.set_wakeup_fd(-1)
status = run_program(sys.executable, [sys.executable, "-c", sys.argv[1]], lambda process: {})
assert before == (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGCHLD), signal.set_wakeup_fd(-1))
sys.exit(status)
"""
    # It takes a blocked signal: one that comes between an unblocking and a pause would come too early for the pause.
    program = (
        "import signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM}); print('ready', flush=True); "
        "signal.sigwait({signal.SIGTERM}); sys.exit(9)"
    )
    process = subprocess.Popen([sys.executable, "-c", caller, program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    assert process.wait(SECONDS) == 9


def test_a_caller_that_ignores_its_children(tmp_path: Path) -> None:
    caller = partial(signal.signal, signal.SIGCHLD, signal.SIG_IGN)
    command = [sys.executable, "-m", "streamsan", "run", "--", "sh", "-c", "exit 3"]
    done = subprocess.Popen(command, env=machine_without_driver(tmp_path), preexec_fn=caller)
    assert done.wait(SECONDS) == 3


def test_ctrl_c_is_the_programs(tmp_path: Path) -> None:
    script = "trap 'echo asked; exit 9' INT; echo ready; while :; do sleep 0.01; done"
    process = subprocess.Popen(
        [sys.executable, "-m", "streamsan", "run", "--", "sh", "-c", script],
        env=machine_without_driver(tmp_path),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Where the tests run in the background of a shell it is ignored, and no program could take it up again.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGINT)
    assert process.stdout.read() == "asked\n"
    assert process.wait(SECONDS) == 9


# -- usage ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["-o", "no/such/run.sst", "--", "true"], "no/such/run.sst: no such folder"),
        (["-o", "run.txt", "--", "true"], "-o: run.txt does not end in .sst"),
        (["--no-check", "--", "true"], "--no-check leaves nothing without -o F.sst"),
        (["--report", "no/such/file", "--", "true"], "no/such/file: no such folder"),
        (["--max-size", "many", "--", "true"], "a number of bytes"),
        (["--max-size", "4K", "--", "true"], "less than 1 MiB"),
        (["--select", "SS999", "--", "true"], "unknown code 'SS999'"),
        (["--error-exitcode", "256", "--", "true"], "not in the range"),
        (["--"], "Missing argument"),
    ],
)
def test_bad_usage_is_one_line_and_nothing_is_started(arguments: list[str], line: str, tmp_path: Path) -> None:
    done = run(tmp_path, *arguments)
    assert done.returncode == 2
    assert line in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("streamsan: ")


def test_an_installation_without_a_recorder_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamsan.recorder.preconditions.recorder_library", lambda: None)
    result = CliRunner().invoke(verbs.streamsan, ["run", "--", "true"])
    assert result.exit_code != 0
    assert "this installation has no recorder" in result.output


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o555)
    done = run(tmp_path, "-o", "closed/run.sst", "--", "true")
    assert (done.returncode, done.stderr) == (2, "streamsan: closed/run.sst: permission denied\n")


# -- recording --------------------------------------------------------------------------------------------


def test_the_report_goes_to_standard_error(fake_device: FakeDevice, tmp_path: Path) -> None:
    ran = fake_device.run(tmp_path, [fake_device.programs, "double_free_wrong"], checked=False)
    assert (ran.status, ran.output) == (0, "second free: 1\n")
    assert "error[SS201]" in ran.errors
    assert list(tmp_path.iterdir()) == []


def test_findings_can_decide_the_exit_status(fake_device: FakeDevice, tmp_path: Path) -> None:
    wrong = fake_device.run(tmp_path, [fake_device.programs, "double_free_wrong"], "--error-exitcode", "77")
    assert wrong.status == 77
    right = fake_device.run(tmp_path, [fake_device.programs, "double_free_right"], "--error-exitcode", "77")
    assert right.status == 0
    ignored = fake_device.run(
        tmp_path, [fake_device.programs, "double_free_wrong"], "--error-exitcode", "77", "--ignore", "SS201"
    )
    assert (ignored.status, ignored.codes) == (0, [])


def test_a_program_that_does_not_use_cuda(fake_device: FakeDevice, tmp_path: Path) -> None:
    ran = fake_device.run(tmp_path, [fake_device.programs, "no_cuda_right"], "-o", "run.sst", checked=False)
    assert (ran.status, ran.output) == (3, "nothing\n")
    assert ran.errors == "streamsan: nothing recorded: programs used neither CUDA nor OpenCL\n".replace(
        "programs", fake_device.programs
    )
    assert list(tmp_path.iterdir()) == []


def test_another_tool_of_the_users_is_left_in_place(fake_device: FakeDevice, tmp_path: Path) -> None:
    ran = fake_device.run(
        tmp_path,
        ["sh", "-c", f"echo ${INJECTION}; {fake_device.programs} double_free_wrong"],
        environment={INJECTION: "/opt/profiler.so"},
        checked=False,
    )
    assert ran.output == "/opt/profiler.so\nsecond free: 1\n"
    assert (
        ran.errors == f"streamsan: nothing of CUDA is recorded: {INJECTION} is set to another tool, /opt/profiler.so\n"
    )


def test_a_tool_that_holds_the_subscribers_place_is_named(fake_device: FakeDevice, tmp_path: Path) -> None:
    ran = fake_device.run(
        tmp_path,
        [fake_device.programs, "double_free_wrong"],
        environment={"FAKE_CUPTI_TAKEN": "Other Profiler"},
        checked=False,
    )
    assert (ran.status, ran.output) == (0, "second free: 1\n")
    (line,) = ran.errors.splitlines()
    assert line.startswith("streamsan: ")
    assert "Other Profiler" in line


def test_a_tool_that_lets_others_subscribe_is_no_obstacle(fake_device: FakeDevice, tmp_path: Path) -> None:
    ran = fake_device.run(
        tmp_path, [fake_device.programs, "double_free_wrong"], environment={"FAKE_CUPTI_SHARED": "cuspy"}
    )
    assert (ran.codes, ran.errors) == (["SS201"], "")


def test_no_cupti_is_one_line(fake_device: FakeDevice, tmp_path: Path) -> None:
    # A driver of CUDA 11 works with no newer CUPTI, and this machine has none so old.
    old = tmp_path / "old-driver"
    old.mkdir()
    libraries = fake_device.folder / "lib64"
    shutil.copy(libraries / "libcuda.so.1", old / "libcuda.so.450.80")
    (old / "libcuda.so.1").symlink_to("libcuda.so.450.80")
    ran = fake_device.run(
        tmp_path,
        [fake_device.programs, "double_free_wrong"],
        environment={"LD_LIBRARY_PATH": f"{old}:{libraries}"},
        checked=False,
    )
    assert (ran.status, ran.output) == (0, "second free: 1\n")
    (line,) = ran.errors.splitlines()
    assert line.startswith("streamsan: ")
    assert "libcupti" in line


def recorded_before(path: Path, run_id: str, process: int) -> None:
    writer = TraceWriter(path, origin="recording", metadata={"run": run_id, "process": process, "clock_origin": 1})
    writer.add_threads([Thread(0, "main")])
    writer.close()


def test_an_earlier_run_of_the_name_is_replaced(fake_device: FakeDevice, tmp_path: Path) -> None:
    recorded_before(tmp_path / "run.sst", "old", 11)
    recorded_before(tmp_path / "run.12.sst", "old", 12)
    recorded_before(tmp_path / "run.7.sst", "other", 14)
    (tmp_path / "run.13.sst").write_text("mine")
    (tmp_path / "run.notes.sst").write_text("mine")
    ran = fake_device.run(tmp_path, [fake_device.programs, "double_free_wrong"], "-o", "run.sst")
    assert ran.codes == ["SS201"]
    assert ran.problems == []
    assert sorted(path.name for path in tmp_path.glob("*.sst")) == [
        "run.13.sst",
        "run.7.sst",
        "run.notes.sst",
        "run.sst",
    ]


def test_a_link_at_the_name_of_a_process_is_not_followed(fake_device: FakeDevice, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("mine")
    planting = f"ln -s victim run.$$.sst; exec {fake_device.programs} double_free_wrong"
    ran = fake_device.run(tmp_path, ["sh", "-c", f"sh -c '{planting}'; true"], "-o", "run.sst")
    assert ran.codes == ["SS201"]
    assert (tmp_path / "victim").read_text() == "mine"
    (trace,) = tmp_path.glob("*.sst")
    assert not trace.is_symlink()
    assert trace.stat().st_mode & 0o777 == 0o600


def test_an_earlier_run_goes_where_nothing_is_recorded(fake_device: FakeDevice, tmp_path: Path) -> None:
    for environment in ({}, {INJECTION: "/opt/profiler.so"}):
        recorded_before(tmp_path / "run.sst", "old", 11)
        recorded_before(tmp_path / "run.12.sst", "old", 12)
        recorded_before(tmp_path / "run.7.sst", "other", 14)
        command = [fake_device.programs, "no_cuda_right"]
        fake_device.run(tmp_path, command, "-o", "run.sst", environment=environment, checked=False)
        assert [path.name for path in tmp_path.glob("*.sst")] == ["run.7.sst"]
    recorded_before(tmp_path / "run.sst", "old", 11)
    assert run(tmp_path, "-o", "run.sst", "--", "true").returncode == 0
    assert [path.name for path in tmp_path.glob("*.sst")] == ["run.7.sst"]


@pytest.mark.parametrize("option", ["--require-recording", "--strict"])
def test_a_recording_that_is_required(option: str, fake_device: FakeDevice, tmp_path: Path) -> None:
    wanted = "streamsan: the recording is required, and is not whole: "
    whole = fake_device.run(tmp_path, [fake_device.programs, "double_free_right"], option, checked=False)
    assert whole.status == 0
    for environment, reason in (
        ({}, "nothing recorded: "),
        ({INJECTION: "/opt/profiler.so"}, "nothing of CUDA is recorded: "),
    ):
        command = [fake_device.programs, "no_cuda_right"]
        ran = fake_device.run(tmp_path, command, option, environment=environment, checked=False)
        assert ran.status == 2
        assert ran.errors.splitlines()[-1].startswith(wanted + reason)
    taken = {"FAKE_CUPTI_TAKEN": "Other Profiler"}
    ran = fake_device.run(
        tmp_path, [fake_device.programs, "double_free_wrong"], option, environment=taken, checked=False
    )
    assert (ran.status, "Other Profiler" in ran.errors.splitlines()[-1]) == (2, True)
    assert run(tmp_path, option, "--", "true").returncode == 2  # no driver


@pytest.mark.parametrize("options", [(), ("--no-check", "-o", "run.sst")])
def test_a_recording_that_is_cut_short_is_not_whole(
    options: tuple[str, ...], fake_device: FakeDevice, tmp_path: Path
) -> None:
    command = [fake_device.programs, "ends", "kill", "5"]
    assert fake_device.run(tmp_path, command, *options, checked=False).status == -signal.SIGKILL
    ran = fake_device.run(tmp_path, command, "--require-recording", *options, checked=False)
    assert ran.status == 2
    assert "is not whole: partial result" in ran.errors.splitlines()[-1]


def test_a_report_in_a_file_leaves_standard_error_alone(fake_device: FakeDevice, tmp_path: Path) -> None:
    ran = fake_device.run(tmp_path, [fake_device.programs, "double_free_wrong"], "--report", "found.txt", checked=False)
    assert ran.errors == ""
    assert "error[SS201]" in (tmp_path / "found.txt").read_text()


def test_a_terminal_is_the_programs_and_shows_no_remains(fake_device: FakeDevice, tmp_path: Path) -> None:
    master, terminal = pty.openpty()
    report = tmp_path / "report.json"
    script = f"test -t 0 && test -t 1 && test -t 2 && {fake_device.programs} double_free_wrong"
    options = ["--format", "json", "--report", str(report)]
    process = subprocess.Popen(
        [sys.executable, "-m", "streamsan", "run", *options, "--", "sh", "-c", script],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**fake_device.environment(), "TERM": "xterm"},
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            block = os.read(master, 4096)
        except OSError:
            break
        shown += block
    assert process.wait(SECONDS) == 0
    assert b"second free: 1" in shown
    assert b"Traceback" not in shown
    assert [finding["code"] for finding in json.loads(report.read_text())["findings"]] == ["SS201"]
    os.close(master)


def test_a_comment_in_the_source_hides_a_finding_of_a_recording(fake_device: FakeDevice, tmp_path: Path) -> None:
    source = tmp_path / "twice.cpp"
    source.write_text(
        '#include "runtime.hpp"\n'
        "int main() {\n"
        "    void *p = nullptr, *q = nullptr;\n"
        "    cudaMalloc(&p, 64);\n"
        "    cudaMalloc(&q, 64);\n"
        "    cudaFree(p), cudaFree(q);\n"
        "    cudaFree(p);  // streamsan: ignore[SS201] shown on purpose\n"
        "    cudaFree(q);  // streamsan: ignore[SS102] of another matter\n"
        "}\n"
    )
    program = fake_device.compiled(source)
    ran = fake_device.run(tmp_path, [program])
    assert ran.loud == {(8, "SS201")}
    assert ran.report["summary"]["suppressed"] == 1
    assert ran.report["summary"]["unused_suppressions"] == []


TWICE = """#include "runtime.hpp"
int main() {
    void* p = nullptr;
    cudaMalloc(&p, 64);
    cudaFree(p);
    cudaFree(p);
}
"""
SECRETS = ("hunter2", "secret-project", "aliceliddell")


def secrets_in(folder: Path) -> list[str]:
    content = b"".join(path.read_bytes() for path in folder.glob("*.sst"))
    return [secret for secret in (*SECRETS, str(folder)) if secret.encode() in content]


@pytest.fixture(scope="module")
def secret_program(fake_device: FakeDevice, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with a double free, built in a folder of which nobody shall know."""
    folder = tmp_path_factory.mktemp("aliceliddell") / "secret-project"
    folder.mkdir()
    source = folder / "twice.cpp"
    source.write_text(TWICE)
    return Path(fake_device.compiled(source))


def test_a_redacted_trace_names_nobody(fake_device: FakeDevice, tmp_path: Path, secret_program: Path) -> None:
    person = {"USER": "aliceliddell", "LOGNAME": "aliceliddell", "HOME": str(secret_program.parent)}
    shell = ["sh", "-c", f"cd {secret_program.parent} && exec {secret_program} --password=hunter2"]
    plain = fake_device.run(tmp_path, shell, "-o", "plain.sst", environment=person)
    assert secrets_in(tmp_path) == list(SECRETS)
    (tmp_path / "plain.sst").unlink()
    ran = fake_device.run(tmp_path, shell, "-o", "run.sst", "--redact", environment=person)
    assert ran.codes == plain.codes == ["SS201"]
    assert [finding["location"]["file"] for finding in ran.report["findings"]] == ["twice.cpp"]
    assert ran.loud == plain.loud
    assert secrets_in(tmp_path) == []
    trace = read(tmp_path / "run.sst")
    assert (trace.metadata["redacted"], trace.complete, trace.source_lines) == (True, True, {})
    assert "command" not in trace.metadata


@pytest.mark.parametrize(("options", "stored"), [((), True), (("--no-source",), False)])
def test_the_lines_of_call_sites_are_stored(
    fake_device: FakeDevice, tmp_path: Path, secret_program: Path, options: tuple[str, ...], stored: bool
) -> None:
    fake_device.run(tmp_path, [str(secret_program)], "-o", "run.sst", *options)
    lines = read(tmp_path / "run.sst").source_lines
    assert bool(lines) == stored
    text = TWICE.split("\n")
    assert all(text[number - 1] == line for numbered in lines.values() for number, line in numbered.items())

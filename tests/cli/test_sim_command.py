from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from forked import streamsan
from streamsan.cli import main
from streamsan.trace import reader

PRELUDE = '''\
import ctypes, sys
import numpy as np
from cuda.bindings import driver, nvrtc, runtime

SOURCE = b"""
extern "C" __global__ void copy(const float *source, float *to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = source[i];
}
"""

def copy(source, to, n):
    to[:n] = source[:n]

SIMULATED_KERNELS = {"copy": copy}

def ok(result):
    status, *rest = result
    if int(status):
        raise RuntimeError(repr(status))
    return rest[0] if len(rest) == 1 else rest
'''
PROGRAM = (
    PRELUDE
    + """
n = 1024
program = ok(nvrtc.nvrtcCreateProgram(SOURCE, b"copy.cu", 0, [], []))
ok(nvrtc.nvrtcCompileProgram(program, 0, []))
ptx = b" " * ok(nvrtc.nvrtcGetPTXSize(program))
ok(nvrtc.nvrtcGetPTX(program, ptx))
ok(runtime.cudaFree(0))
kernel = ok(driver.cuModuleGetFunction(ok(driver.cuModuleLoadData(ptx)), b"copy"))
s1 = ok(runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking))
s2 = ok(runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking))
host = np.arange(n, dtype=np.float32)
out = ok(runtime.cudaMalloc(4 * n))
d_x = ok(runtime.cudaMallocAsync(4 * n, s1))
ok(runtime.cudaMemcpyAsync(d_x, host.ctypes.data, 4 * n, runtime.cudaMemcpyKind.cudaMemcpyHostToDevice, s1))
ok(runtime.cudaStreamSynchronize(s1))
arguments = ((d_x, out, n), (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int))
ok(driver.cuLaunchKernel(kernel, 4, 1, 1, 256, 1, 1, 0, int(s1), arguments, 0))
ORDER
ok(runtime.cudaFreeAsync(d_x, s2))
q = ok(runtime.cudaMallocAsync(4 * n, s2))
ok(runtime.cudaMemsetAsync(q, 0xFF, 4 * n, s2))
ok(runtime.cudaDeviceSynchronize())
result = np.zeros(n, dtype=np.float32)
ok(runtime.cudaMemcpy(result.ctypes.data, out, 4 * n, runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost))
print("wrong words:", int((result != host).sum()))
ok(runtime.cudaFreeAsync(q, s2))
ok(runtime.cudaStreamSynchronize(s2))
ok(runtime.cudaFree(out))
"""
)
WRONG = PROGRAM.replace("ORDER\n", "")
RIGHT = PROGRAM.replace(
    "ORDER\n",
    "done = ok(runtime.cudaEventCreate())\nok(runtime.cudaEventRecord(done, s1))\n"
    "ok(runtime.cudaStreamWaitEvent(s2, done, 0))\n",
)
FREE_TWICE = (
    "from cuda.bindings import runtime\np = runtime.cudaMalloc(64)[1]\nruntime.cudaFree(p)\nruntime.cudaFree(p)\n"
)


def sim(folder: Path, *arguments: str, status: int, text: str = "") -> subprocess.CompletedProcess[str]:
    done = streamsan(folder, "sim", *arguments, text=text)
    assert done.returncode == status, done.stderr
    assert "sim/program_process.py" not in done.stderr
    return done


def line_of(text: str, fragment: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if fragment in line)


def test_the_wrong_order_is_found_on_its_line_and_shows_in_the_words(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    done = sim(tmp_path, "--schedule", "lazy", "wrong.py", status=0)
    assert done.stdout == "wrong words: 1024\n"
    assert "error[SS102]: kernel `copy` may still be reading `d_x` when it is freed" in done.stderr
    assert f"--> wrong.py:{line_of(WRONG, 'cudaFreeAsync(d_x')}:" in done.stderr
    assert "d_x = ok(runtime.cudaMallocAsync(4 * n, s1))" in done.stderr
    eager = sim(tmp_path, "--schedule", "eager", "wrong.py", status=0)
    assert eager.stdout == "wrong words: 0\n"
    assert "error[SS102]" in eager.stderr


@pytest.mark.parametrize("schedule", ["0", "3", "eager", "lazy"])
def test_the_right_twin_is_right_under_every_schedule(tmp_path: Path, schedule: str) -> None:
    (tmp_path / "right.py").write_text(RIGHT)
    done = sim(tmp_path, "--schedule", schedule, "--error-exitcode", "9", "right.py", status=0)
    assert done.stdout == "wrong words: 0\n"
    assert done.stderr.startswith("0 errors, 0 warnings")
    assert done.stderr.count("\n") == 1


def command(folder: Path, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run what a user types, in processes of their own: all other tests here run in forks."""
    line = [sys.executable, "-m", "streamsan", "sim", *arguments]
    return subprocess.run(line, cwd=folder, input=text, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("target", [["show.py"], ["-m", "show"]])
def test_the_program_is_run_as_python_runs_it(tmp_path: Path, target: list[str]) -> None:
    (tmp_path / "show.py").write_text(
        "import sys, os\nprint(sys.argv, __name__, os.path.basename(__file__), sys.path[0] == os.getcwd())\n"
        "print(input())\nsys.exit(int(sys.argv[-1]))\n"
    )
    done = command(tmp_path, *target, "--schedule", "-m", "5", text="typed\n")
    assert done.returncode == 5
    name = "show.py" if target == ["show.py"] else str(tmp_path / "show.py")
    assert done.stdout == f"{[name, '--schedule', '-m', '5']} __main__ show.py True\ntyped\n"


@pytest.mark.deep
def test_a_patch_is_tried_in_processes_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    done = command(tmp_path, "--diff", "wrong.py")
    assert done.returncode == 0
    assert "+ok(runtime.cudaFreeAsync(d_x, s1))\n" in done.stdout


def test_a_module_that_is_not_simulated_is_one_line_that_says_who_imports_it(tmp_path: Path) -> None:
    (tmp_path / "views.py").write_text("import sys\nfrom cuda.core import Buffer\n")
    (tmp_path / "app.py").write_text("import views\n")
    done = sim(tmp_path, "app.py", status=1)
    lines = done.stderr.splitlines()
    assert lines[0] == (
        "streamsan sim simulates cuda.bindings (driver, runtime, nvrtc); cuda.core is not simulated"
        " (views imports it in line 2)"
    )
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("last", "status", "said"),
    [
        ("sys.exit('bye')", 1, "bye\n"),
        ("raise ValueError('wrong')", 1, "ValueError: wrong\n"),
        ("import os; os._exit(9)", 9, ""),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, "partial result"),
        (
            "import faulthandler, os; faulthandler.disable(); os.kill(os.getpid(), 11)",
            -11,
            "the program ended by SIGSEGV",
        ),
        ("raise KeyboardInterrupt", -signal.SIGINT, "KeyboardInterrupt\n"),
        ("import cuda.core", 1, "cuda.core is not simulated"),
    ],
)
def test_ends_are_the_programs_own_and_what_it_did_is_checked(
    tmp_path: Path, last: str, status: int, said: str
) -> None:
    (tmp_path / "end.py").write_text(f"import sys\n{FREE_TWICE}{last}\n")
    done = sim(tmp_path, "end.py", status=status)
    assert said in done.stderr
    assert "error[SS201]: `p` is freed twice" in done.stderr
    if "Traceback" in done.stderr:
        shown = done.stderr[done.stderr.index("Traceback") :].splitlines()
        assert shown[1].startswith(f'  File "{tmp_path / "end.py"}", line 6')


def test_a_syntax_error_is_pythons_own(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("x = (\n")
    done = sim(tmp_path, "bad.py", status=1)
    assert "SyntaxError" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["missing.py"], "missing.py: no such file"),
        (["."], ".: is a directory"),
        (["--schedule", "never", "ok.py"], "seed"),
        (["--devices", "0", "ok.py"], "devices"),
        (["--kernels", "none.py", "ok.py"], "none.py: no such file"),
        (["-o", "no/where.sst", "ok.py"], "no such folder"),
        (["--report", ".", "ok.py"], "is a directory"),
        (["--select", "SS999", "ok.py"], "unknown code"),
        (["--notes"], "give a script"),
    ],
)
def test_what_cannot_be_run_is_said_in_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    reason: str,
) -> None:
    (tmp_path / "ok.py").write_text("")
    monkeypatch.chdir(tmp_path)
    assert main(["sim", *arguments]) == 2
    captured = capsys.readouterr()
    assert reason in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_a_file_of_kernels_that_is_none_ends_it_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "ok.py").write_text("print('ran')\n")
    (tmp_path / "kernels.py").write_text("SIMULATED_KERNELS = 3\n")
    done = sim(tmp_path, "--kernels", "kernels.py", "ok.py", status=2)
    assert "kernels.py: SIMULATED_KERNELS" in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_report_trace_and_exit_status_on_request(tmp_path: Path) -> None:
    (tmp_path / "twice.py").write_text(FREE_TWICE)
    done = sim(
        tmp_path,
        *("-o", "run.sst", "--report", "report.json", "--format", "json", "--error-exitcode", "7", "twice.py"),
        status=7,
    )
    assert done.stderr == ""
    report = json.loads((tmp_path / "report.json").read_text())
    (finding,) = [one for one in report["findings"] if one["severity"] == "error"]
    assert (finding["code"], finding["location"]["file"], finding["location"]["line"]) == ("SS201", "twice.py", 4)
    trace = reader.read(tmp_path / "run.sst")
    assert trace.complete
    assert trace.origin == "simulation"
    assert "error" not in sim(tmp_path, "--ignore", "SS201", "twice.py", status=0).stderr.replace("0 errors", "")


def test_a_trace_carries_the_lines_of_its_call_sites(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "twice.py").write_text(FREE_TWICE)
    sim(tmp_path, "-o", "run.sst", "twice.py", status=0)
    stored = reader.read(tmp_path / "run.sst").source_lines["twice.py"]
    text = FREE_TWICE.split("\n")
    assert stored == {number: text[number - 1] for number in stored}
    assert 4 in stored
    (tmp_path / "twice.py").unlink()
    assert main(["check", str(tmp_path / "run.sst")]) == 1
    assert text[3].strip() in capsys.readouterr().out
    (tmp_path / "twice.py").write_text(FREE_TWICE)
    sim(tmp_path, "--no-source", "-o", "run.sst", "twice.py", status=0)
    assert reader.read(tmp_path / "run.sst").source_lines == {}


def test_kernel_bodies_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(RIGHT.replace("SIMULATED_KERNELS", "OTHER"))
    (tmp_path / "bodies.py").write_text(
        "def copy(source, to, n):\n    to[:n] = source[:n]\nSIMULATED_KERNELS = {'copy': copy}\n"
    )
    assert sim(tmp_path, "--kernels", "bodies.py", "right.py", status=0).stdout == "wrong words: 0\n"
    assert sim(tmp_path, "right.py", status=0).stdout != "wrong words: 0\n"


def test_processes_of_multiprocessing(tmp_path: Path) -> None:
    text = """\
import multiprocessing, sys
from cuda.bindings import runtime

def work(number):
    return int(runtime.cudaMalloc(64)[0])

if __name__ == "__main__":
    method = multiprocessing.get_context(sys.argv[1])
    runtime.cudaFree(0)
    with method.Pool(2) as pool:
        print(pool.map(work, range(2)))
"""
    (tmp_path / "pool.py").write_text(text)
    forked = sim(tmp_path, "pool.py", "fork", status=0)
    assert forked.stdout == "[3, 3]\n"
    assert "error[SS204]: `cudaMalloc` is called in a forked child whose parent had initialised CUDA" in forked.stderr
    assert f"--> pool.py:{line_of(text, 'cudaMalloc')}:" in forked.stderr
    spawned = sim(tmp_path, "pool.py", "spawn", status=0)
    assert spawned.stdout == "[0, 0]\n"
    assert "0 errors" in spawned.stderr


def test_objects_that_free_at_the_end_are_seen(tmp_path: Path) -> None:
    text = """\
from cuda.bindings import runtime
import atexit

class Buffer:
    def __init__(self):
        self.pointer = runtime.cudaMalloc(64)[1]

    def __del__(self):
        print("free", int(runtime.cudaFree(self.pointer)[0]))

kept = Buffer()
atexit.register(lambda: print("exit", int(runtime.cudaDeviceSynchronize()[0])))
"""
    (tmp_path / "buffer.py").write_text(text)
    done = sim(tmp_path, "--notes", "buffer.py", status=0)
    assert done.stdout == "exit 0\nfree 0\n"
    assert "SS401" not in done.stderr

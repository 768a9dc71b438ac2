"""Processes of one program under `streamsan sim`, however they were started, share what they export."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """\
import ctypes
import multiprocessing
import subprocess
import sys
from multiprocessing.connection import Connection

import numpy as np

SIZE = 1 << 16


def ok(result):
    assert int(result[0]) == 0, result
    return result[1] if len(result) == 2 else result[1:]


def content(handle):
    return ctypes.string_at(handle.getPtr(), 64)


def filled(kind, data):
    handle = kind()
    ctypes.memmove(handle.getPtr(), data, 64)
    return handle


def exporter(pipe):
    from cuda.bindings import runtime

    memory = ok(runtime.cudaMalloc(SIZE))
    flags = runtime.cudaEventInterprocess | runtime.cudaEventDisableTiming
    event = ok(runtime.cudaEventCreateWithFlags(flags))
    pipe.send((content(ok(runtime.cudaIpcGetMemHandle(memory))), content(ok(runtime.cudaIpcGetEventHandle(event)))))
    stream = ok(runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking))
    ok(runtime.cudaMemsetAsync(memory, 7, SIZE, stream))
    ok(runtime.cudaEventRecord(event, stream))
    pipe.send("recorded")
    assert pipe.recv() == "closed"
    ok(runtime.cudaStreamSynchronize(stream))
    ok(runtime.cudaStreamDestroy(stream))
    ok(runtime.cudaEventDestroy(event))
    ok(runtime.cudaFree(memory))


def main():
    here, there = multiprocessing.Pipe()
    method = sys.argv[1]
    if method == "subprocess":
        command = [sys.executable, __file__, "child", str(there.fileno())]
        child = subprocess.Popen(command, pass_fds=[there.fileno()])
    else:
        child = multiprocessing.get_context(method).Process(target=exporter, args=(there,))
        child.start()
    from cuda.bindings import runtime

    memory_handle, event_handle = here.recv()
    memory = ok(runtime.cudaIpcOpenMemHandle(filled(runtime.cudaIpcMemHandle_t, memory_handle), 1))
    event = ok(runtime.cudaIpcOpenEventHandle(filled(runtime.cudaIpcEventHandle_t, event_handle)))
    assert here.recv() == "recorded"
    stream = ok(runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking))
    ok(runtime.cudaStreamWaitEvent(stream, event, 0))
    words = np.zeros(SIZE, np.uint8)
    ok(runtime.cudaMemcpyAsync(words, memory, SIZE, runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost, stream))
    ok(runtime.cudaStreamSynchronize(stream))
    print("words", set(words.tolist()))
    ok(runtime.cudaIpcCloseMemHandle(memory))
    ok(runtime.cudaStreamDestroy(stream))
    ok(runtime.cudaEventDestroy(event))
    here.send("closed")
    if method == "subprocess":
        print("child", child.wait())
    else:
        child.join()
        print("child", child.exitcode)


if __name__ == "__main__":
    if sys.argv[1] == "child":
        exporter(Connection(int(sys.argv[2])))
    else:
        main()
"""


IN_DEPTH = [pytest.param(method, marks=pytest.mark.deep) for method in ("subprocess", "spawn", "forkserver")]
"""a second or two for each process that they start; a child by `subprocess` begins as empty as theirs"""


@pytest.mark.parametrize("method", ["fork", *IN_DEPTH])
def test_words_and_order_go_from_process_to_process(tmp_path: Path, method: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "streamsan", "sim", "--schedule", "lazy", "--notes", str(program), method]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert ended.stdout == "words {7}\nchild 0\n", ended.stderr
    assert ended.returncode == 0
    assert "0 errors, 0 warnings" in ended.stderr
    assert "SS603" in ended.stderr
    assert "imported memory" in ended.stderr
    assert os.listdir(tmp_path) == ["program.py"]

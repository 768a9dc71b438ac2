"""What findings on a pool's blocks name: the lines at which the program called its pool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from forked import streamsan

POOL = """\
from cuda.bindings import runtime as cudart

import streamsan.pools

base = cudart.cudaMalloc(4 * 4096)[1]
unused = [base + 4096 * number for number in range(4)]


def take():
    block = unused.pop()
    streamsan.pools.hand_out(block, 4096)
    return block


def give(block):
    streamsan.pools.take_back(block)
    unused.append(block)


def stream():
    return cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking)[1]


one, other = stream(), stream()
"""
END = """\
cudart.cudaDeviceSynchronize()
cudart.cudaStreamDestroy(one)
cudart.cudaStreamDestroy(other)
"""


def found(folder: Path, text: str) -> list[dict[str, Any]]:
    """Return the findings of a program on the simulated device, but for waits that it does not need."""
    (folder / "program.py").write_text(POOL + text + END)
    ran = streamsan(folder, "sim", "--format", "json", "--report", "report.json", "program.py")
    assert "Traceback" not in ran.stderr, ran.stderr
    report = json.loads((folder / "report.json").read_text())
    return [each for each in report["findings"] if each["code"] not in ("SS503", "SS504")]


def line_of(text: str, words: str) -> int:
    return next(number for number, line in enumerate((POOL + text).splitlines(), 1) if words in line)


def test_a_race_in_a_block_names_where_the_pool_was_called(tmp_path: Path) -> None:
    text = "data = take()\ncudart.cudaMemsetAsync(data, 1, 4096, one)\ncudart.cudaMemsetAsync(data, 2, 4096, other)\n"
    text += "cudart.cudaDeviceSynchronize()\ngive(data)\n"
    (race,) = found(tmp_path, text)
    assert (race["code"], race["location"]["line"]) == ("SS109", line_of(text, "other)"))
    (made,) = [each for each in race["related"] if each["role"] == "alloc"]
    assert made["line"] == line_of(text, "data = take()")
    assert "by a pool" in made["message"]


def test_blocks_that_are_kept_are_one_note(tmp_path: Path) -> None:
    text = "kept = [take() for _ in range(2)]\nlast = take()\ngive(last)\n"
    (leak,) = [each for each in found(tmp_path, text) if each["code"] == "SS401"]
    assert (leak["severity"], leak["location"]["line"]) == ("note", line_of(text, "kept ="))
    assert leak["message"] == "2 blocks that are handed out here are never given back to their pool"
    text = "kept = [take() for _ in range(2)]\nfor each in kept:\n    give(each)\n"
    assert found(tmp_path, text) == []


def test_a_graph_that_holds_a_block_of_another_owner(tmp_path: Path) -> None:
    text = """\
data = take()
cudart.cudaStreamBeginCapture(one, cudart.cudaStreamCaptureMode.cudaStreamCaptureModeRelaxed)
cudart.cudaMemsetAsync(data, 1, 4096, one)
graph = cudart.cudaStreamEndCapture(one)[1]
exec = cudart.cudaGraphInstantiate(graph, 0)[1]
give(data)
other_owner = take()
cudart.cudaGraphLaunch(exec, one)
cudart.cudaStreamSynchronize(one)
give(other_owner)
cudart.cudaGraphExecDestroy(exec)
cudart.cudaGraphDestroy(graph)
"""
    (stale,) = found(tmp_path, text)
    assert (stale["code"], stale["location"]["line"]) == ("SS303", line_of(text, "cudaGraphLaunch"))
    roles = {each["role"]: each["line"] for each in stale["related"]}
    assert (roles["alloc"], roles["free"]) == (line_of(text, "data = take()"), line_of(text, "give(data)"))

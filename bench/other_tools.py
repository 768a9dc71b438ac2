"""The tools that programs run under beside streamsan, and how one run of a program under one of them is counted.

compute-sanitizer, PyTorch's CUDA Sanitizer, and PyTorch's look at whether a graph's inputs are alive at a replay.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from litmus_verdicts import OVER_LIMIT, Run

LIMIT = 90.0
"""seconds that a run may take"""
_SUMMARY = re.compile(r"(?:ERROR|RACECHECK|LIVENESS) SUMMARY: (\d+) (?:error|hazard)")
_RACE = re.compile(r"CSAN detected a possible data race")
_NUMBERS = re.compile(r"^(\d+) of (\d+) (?:results )?wrong", re.MULTILINE)
_CHECKED_GRAPHS = Path(__file__).resolve().parent / "checked_graphs.py"


@dataclass(frozen=True)
class Tool:
    """A tool beside streamsan: what stands before a program's words, and what is added to its environment."""

    name: str
    words: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    module: str = ""
    """it only looks at programs that import this"""
    call: str = ""
    """it only looks at programs that have this text"""
    slow: bool = False

    def looks_at(self, source: Path) -> bool:
        """Tell whether the tool has anything to look at in a program."""
        if not self.module and not self.call:
            return True
        text = source.read_text(encoding="utf-8")
        return f"import {self.module}\n" in text and self.call in text


def sanitizer_tools(sanitizer: str | None, names: Sequence[str]) -> list[Tool]:
    """Return tools of compute-sanitizer, by their names; none where it is not installed."""
    options = {
        "memcheck, stream-ordered races": ("--tool", "memcheck", "--track-stream-ordered-races", "all"),
        "racecheck": ("--tool", "racecheck"),
        "initcheck": ("--tool", "initcheck"),
    }
    if sanitizer is None:
        return []
    whole = ("--target-processes", "all")
    return [Tool(f"compute-sanitizer {name}", (sanitizer, *options[name], *whole), slow=True) for name in names]


def pytorch_tools() -> list[Tool]:
    """Return what PyTorch brings itself."""
    return [
        Tool("PyTorch's CUDA Sanitizer", environment={"TORCH_CUDA_SANITIZER": "1"}, module="torch"),
        Tool(
            "PyTorch's check_input_liveness",
            (sys.executable, str(_CHECKED_GRAPHS)),
            module="torch",
            call="torch.cuda.graph(",
        ),
    ]


def under(tool: Tool, program: Sequence[str]) -> list[str]:
    """Return the command that runs a program under a tool. What is a script takes the program's script."""
    words = program[1:] if tool.words[:1] == (sys.executable,) else program
    return [*tool.words, *words]


def run(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    said: Path | None = None,
    limit: float = LIMIT,
) -> Run:
    """Run a command in a folder; a run over the limit is ended with all that it started, and has status 124.

    `said`: where what a tool says of the program stays.
    """
    begin = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            return Run(OVER_LIMIT, "", limit, errors_in(output, errors), numbers_in(output))
    seconds = round(time.perf_counter() - begin, 3)
    if said is not None:
        said.write_text(output + errors, encoding="utf-8")
    digest = hashlib.sha256(output.encode()).hexdigest()[:16]
    return Run(process.returncode, digest, seconds, errors_in(output, errors), numbers_in(output))


def errors_in(output: str, errors: str = "") -> int:
    """Return how many errors a tool says that it counted, or says one after the other."""
    return sum(int(count) for count in _SUMMARY.findall(output)) + len(_RACE.findall(output + errors))


def numbers_in(output: str) -> tuple[int, int] | None:
    """Return how many of its results a program found wrong, and of how many; None where it does not say so."""
    match = _NUMBERS.search(output)
    return (int(match[1]), int(match[2])) if match else None

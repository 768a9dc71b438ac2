"""Fleets of traces, and engines for them that run in this process: what the tests of this folder share."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from streamsan.checking.engines.worker_engine import WorkerLost
from streamsan.checking.every_input import CheckedInputs, Workers, check_all, together
from streamsan.checking.reporting import Reporting
from streamsan.checking.request import Request
from streamsan.report.formats.json import document

BENCH = Path(__file__).parents[2] / "bench"


def _loaded(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module


fleet_traces = _loaded("fleet_traces")


def checked_by(folder: Path, engine: Any) -> tuple[dict[str, Any], CheckedInputs]:
    """Let an engine check all traces of a folder, None: this process. Return the report as JSON has it, and all."""
    request = Request.of([str(folder)])
    inputs = request.expanded.inputs
    reporting = Reporting.of()
    workers = Workers(1, engine, os.getcwd()) if engine is not None else Workers()
    checked = check_all(inputs, request.options, proofs=reporting.proofs, workers=workers, results=together(inputs))
    problems = [*checked.unreadable, *checked.limits]
    return document(reporting.report(checked.results, problems, checked.unread)), checked


def same(one: Any, other: Any) -> bool:
    """Tell whether two reports have the same bytes."""
    return json.dumps(one) == json.dumps(other)


@dataclass
class InProcess:
    """An engine of this process, whose results come in some order, and whose workers die of some paths."""

    seed: int = 0
    deaths: dict[str, int] = field(default_factory=dict)
    """by the end of a path: how many workers die of it before one does not"""
    batches: list[list[str]] = field(default_factory=list)
    """the paths that each call was about"""

    def outcomes(self, task: Callable[[str], Any], paths: Sequence[str]) -> Iterator[tuple[str, Any]]:
        self.batches.append(list(paths))
        for path in random.Random(self.seed).sample(list(paths), len(paths)):
            end = next((end for end in self.deaths if path.endswith(end) and self.deaths[end]), None)
            if end is not None:
                self.deaths[end] -= 1
                yield path, WorkerLost("was ended by a test")
            else:
                yield path, task(path)

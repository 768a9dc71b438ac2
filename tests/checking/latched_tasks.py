"""Tasks whose workers a test kills: workers import this module by its name, so it needs nothing of the tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class AfterLatch:
    """Say which process has a path, wait for a latch, then do a task with it. Both are named pipes."""

    task: Callable[[str], Any]
    announced: str
    latch: str

    def __call__(self, path: str) -> Any:
        with open(self.announced, "w", encoding="ascii") as stream:
            stream.write(f"{os.getpid()}\n")
        with open(self.latch, "rb"):  # opens when somebody has it open for writing
            pass
        return self.task(path)


@dataclass(frozen=True)
class Deadly:
    """Do a task, but for a path that ends the process which has it."""

    task: Callable[[str], Any]
    end: str

    def __call__(self, path: str) -> Any:
        if path.endswith(self.end):
            os.kill(os.getpid(), signal.SIGKILL)
        return self.task(path)


@dataclass(frozen=True)
class Wrapped:
    """An engine whose workers do another task, which is made of the one that they are given."""

    engine: Any
    wrap: Callable[[Callable[[str], Any]], Callable[[str], Any]]

    def outcomes(self, task: Callable[[str], Any], paths: Sequence[str]) -> Iterator[tuple[str, Any]]:
        return self.engine.outcomes(self.wrap(task), paths)  # type: ignore[no-any-return]

"""Checks made in processes of their own: one that crashes, hangs or breaks is told, and the others go on."""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

SECONDS = 60.0
"""that one input may take"""
MOST_MEMORY = 4 << 30
"""bytes of addresses that a process may have"""


@dataclass(frozen=True)
class Bad:
    """An input that did not end as it should."""

    number: int
    reason: str


def tried(numbers: Sequence[int], work: Callable[[int], str], jobs: int) -> list[Bad]:
    """Call `work` with each number; it returns what is wrong, "" for nothing. A crash and a hang are wrong, too."""
    context = multiprocessing.get_context("fork")
    waiting = [list(numbers[start::jobs]) for start in range(jobs)]
    running: list[tuple[Any, Connection, list[int], float]] = []
    found: list[Bad] = []
    while waiting or running:
        while waiting and len(running) < jobs:
            share = waiting.pop()
            if share:
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_all_of, args=(share, work, theirs))
                process.start()
                theirs.close()
                running.append((process, ours, share, time.monotonic()))
        for entry in list(running):
            process, ours, share, since = entry
            running.remove(entry)
            reason = ""
            try:
                while ours.poll(0.02):
                    wrong = ours.recv()
                    number = share.pop(0)
                    since = time.monotonic()
                    if wrong:
                        found.append(Bad(number, wrong))
            except EOFError:
                process.join()
                reason = f"ended with {process.exitcode}" if share else ""
                if not share:
                    continue
            if not reason and time.monotonic() - since > SECONDS:
                process.kill()
                process.join()
                reason = f"takes more than {SECONDS:.0f} s"
            if reason:
                found.append(Bad(share.pop(0), reason))
                waiting.append(share)
            else:
                running.append((process, ours, share, since))
    return sorted(found, key=lambda bad: bad.number)


def _all_of(numbers: Sequence[int], work: Callable[[int], str], answers: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    for number in numbers:
        try:
            answers.send(work(number))
        except Exception as error:
            answers.send(f"{type(error).__name__}: {error}"[:300])

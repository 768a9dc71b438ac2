"""Another process of a case's program."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Companion:
    """Another process of the program, forked before CUDA was used. Both sides send and receive JSON values."""

    process: int
    """0 in the companion itself"""
    _reading: int
    _writing: int
    _left: bytes = b""

    def send(self, value: object) -> None:
        """Send a value; bytes as hexadecimal digits are the sender's affair."""
        os.write(self._writing, json.dumps(value).encode() + b"\n")

    def receive(self) -> Any:
        """Wait for the next value; None when the other side has ended."""
        while b"\n" not in self._left:
            more = os.read(self._reading, 1 << 16)
            if not more:
                return None
            self._left += more
        line, _, self._left = self._left.partition(b"\n")
        return json.loads(line)

    def ask(self, value: object) -> Any:
        """Send a value, and wait for the answer."""
        self.send(value)
        return self.receive()

    def ended(self) -> str:
        """Wait for the end of the companion; return how it ended: "exit 0", "signal 11"."""
        _, status = os.waitpid(self.process, 0)
        return ended_text(status)


def ended_text(wait_status: int) -> str:
    """Return a wait status as text."""
    code = os.waitstatus_to_exitcode(wait_status)
    return f"exit {code}" if code >= 0 else f"signal {-code}"


def start_companion(body: Callable[[Companion], int | None]) -> Companion:
    """Run a function in a forked process, which ends with the status that it returns; return this side."""
    to_child, to_parent = os.pipe(), os.pipe()
    process = os.fork()
    if process:
        os.close(to_child[0])
        os.close(to_parent[1])
        return Companion(process, to_parent[0], to_child[1])
    status = 70
    try:
        os.close(to_child[1])
        os.close(to_parent[0])
        status = body(Companion(0, to_child[0], to_parent[1])) or 0
    finally:
        os._exit(status)

"""This process among others: its token, the thread that answers there, the connections to others."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from streamsan.model.statuses import MAP_FAILED
from streamsan.sim.exchange.connections import Peers, SilentError
from streamsan.sim.exchange.messages import Operation, Reply, Request, new_token
from streamsan.sim.exchange.service import Answer, Connection, Service

_Taken = TypeVar("_Taken")


class Link:
    """Nothing at all until the first `start`: a program that shares nothing has no further thread and no file."""

    def __init__(
        self, handle: Callable[[Connection, Request], Answer | None], ended: Callable[[Connection], None]
    ) -> None:
        self.token = b""
        """b"" until the process has shared something"""
        self.peers = Peers()
        self._handle = handle
        self._ended = ended
        self._service: Service | None = None

    def start(self) -> bool:
        """Answer other processes from here on; return whether that is possible."""
        if self._service is None:
            token = new_token()
            try:
                self._service = Service(token, self._handle, self._ended)
            except (OSError, AttributeError):
                return False
            self.token = token
        return True

    def take(
        self,
        exporter: bytes,
        operation: Operation,
        identity: int,
        take: Callable[[Reply, list[int]], _Taken | int],
        *,
        if_ended: int,
    ) -> _Taken | int:
        """Ask a process for what it has exported; return what `take` makes of its answer and files, or a status.

        `take` may raise OSError; the files are closed after it.
        """
        if not self.start():
            return MAP_FAILED
        try:
            answered = self.peers.ask(exporter, Request(operation, self.token, identity))
        except SilentError:
            return MAP_FAILED
        if answered is None:
            return if_ended
        reply, files = answered
        try:
            return reply.status or take(reply, files)
        except OSError:
            return MAP_FAILED
        finally:
            for file in files:
                os.close(file)

    def close(self) -> None:
        """Answer nobody any more: to others this process has ended."""
        if self._service is not None:
            self._service.close()
        self.peers.close()
        self._service = None

    def forget(self) -> None:
        """Be a forked child: the thread and what it has are the parent's."""
        if self._service is not None:
            self._service.forget()
        self.peers.close()
        self._service = None
        self.token = b""

"""This process among others: its token, the thread that answers there, the connections to others."""

from __future__ import annotations

from collections.abc import Callable

from streamsan.sim.exchange.connections import Peers
from streamsan.sim.exchange.messages import Request, new_token
from streamsan.sim.exchange.service import Answer, Connection, Service


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

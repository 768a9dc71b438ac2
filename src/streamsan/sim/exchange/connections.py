"""Connections to other processes: asking them, and telling them something without an answer."""

from __future__ import annotations

import os
import socket
import struct

from streamsan.sim.exchange.messages import LONGEST, PATIENCE, Reply, Request, address_of, is_same_user

_FILE = struct.Struct("i")


class SilentError(Exception):
    """A process is there, and gives no answer."""


class Peers:
    """Connections by token. The session's lock is held around every call.

    A connection stays as long as both processes live: the other one sees by its end that this one has ended.
    """

    def __init__(self) -> None:
        self._connections: dict[bytes, socket.socket] = {}
        self._ended: set[bytes] = set()

    def ask(self, token: bytes, request: Request) -> tuple[Reply, list[int]] | None:
        """Return a process's answer and the files that came with it; None: the process has ended.

        Raises SilentError.
        """
        connection = self._connection(token)
        if connection is None:
            return None
        try:
            connection.settimeout(PATIENCE)
            connection.send(request.packed(), socket.MSG_NOSIGNAL)
            content, files = _received(connection)
        except TimeoutError:
            self._drop(token)  # a late answer must not become that of the next request
            raise SilentError from None
        except OSError:
            self._drop(token)
            return None
        reply = Reply.unpacked(content)
        if reply is None:
            for file in files:
                os.close(file)
            self._drop(token)
            return None
        return reply, files

    def tell(self, token: bytes, request: Request) -> bool:
        """Send a message that has no answer; False: the process has ended. Never waits for the other process."""
        for _ in range(2):
            try:
                connection = self._connection(token)
            except SilentError:
                return True
            if connection is None:
                return False
            try:
                connection.setblocking(False)
                connection.send(request.packed(), socket.MSG_NOSIGNAL)
            except ConnectionError:
                self._drop(token)  # it has ended the connection, or itself: the next attempt tells
                continue
            except OSError:
                return True  # it has more messages than it has come to read
            return True
        return False

    def has_ended(self, token: bytes) -> bool:
        """Return whether a process is known to have ended."""
        return token in self._ended

    def close(self) -> None:
        """End all connections."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _connection(self, token: bytes) -> socket.socket | None:
        known = self._connections.get(token)
        if known is not None or token in self._ended:
            return known
        made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            made.settimeout(PATIENCE)
            made.connect(address_of(token))
            if is_same_user(made):
                self._connections[token] = made
                return made
        except TimeoutError:
            made.close()
            raise SilentError from None
        except OSError:
            pass
        made.close()
        self._ended.add(token)
        return None

    def _drop(self, token: bytes) -> None:
        connection = self._connections.pop(token, None)
        if connection is not None:
            connection.close()


def _received(connection: socket.socket) -> tuple[bytes, list[int]]:
    """Read a message and the file that comes with it. Programs that are started do not have it: recv_fds lets them."""
    room = socket.CMSG_SPACE(_FILE.size)
    content, extra, _, _ = connection.recvmsg(LONGEST, room, socket.MSG_CMSG_CLOEXEC)
    files: list[int] = []
    for level, kind, data in extra:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            files += [number for (number,) in _FILE.iter_unpack(data[: len(data) // _FILE.size * _FILE.size])]
    return content, files

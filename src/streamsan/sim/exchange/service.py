"""The thread that answers other processes, also while the program's own threads are blocked outside of CUDA."""

from __future__ import annotations

import _thread
import os
import select
import socket
from collections.abc import Callable
from contextlib import suppress

from streamsan.sim.exchange.messages import LONGEST, Reply, Request, address_of, is_same_user

MOST_CONNECTIONS = 1024
_END = 5.0
"""seconds for the thread to end"""


Connection = socket.socket
"""one other process, as long as it is connected"""
Answer = tuple[Reply, int]
"""what is answered, and the file that goes with it, -1 for none"""


class Service:
    """Listens at a token until `close`. Raises OSError where there are no such sockets."""

    def __init__(
        self,
        token: bytes,
        handle: Callable[[Connection, Request], Answer | None],
        ended: Callable[[Connection], None],
    ) -> None:
        """Begin. `handle` and `ended` (of a connection) are called on the service's own thread."""
        self._handle = handle
        self._ended = ended
        self._connections: dict[int, Connection] = {}
        self._is_closing = False
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._wake = (-1, -1)
        try:
            self._listener.bind(address_of(token))
            self._listener.listen(128)
            self._listener.setblocking(False)
            self._wake = os.pipe()
            # Not epoll: what a forked child did to its copy would be done to this process's, too.
            self._poll = select.poll()
            self._poll.register(self._listener, select.POLLIN)
            self._poll.register(self._wake[0], select.POLLIN)
            self._done = _thread.allocate_lock()
            self._done.acquire()
            # Not a threading.Thread: it is none of the program's, and no reason for anything to be waited for.
            _thread.start_new_thread(self._run, ())
        except (OSError, RuntimeError) as error:
            self.forget()
            raise OSError(str(error)) from error

    def close(self) -> None:
        """End the thread and all connections."""
        self._is_closing = True
        with suppress(OSError):
            os.write(self._wake[1], b"\0")
        self._done.acquire(timeout=_END)
        self.forget()

    def forget(self) -> None:
        """Let go of the files, as a forked child does, which has no such thread."""
        self._listener.close()
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        for file in self._wake:
            if file >= 0:
                os.close(file)
        self._wake = (-1, -1)

    def _run(self) -> None:
        try:
            while not self._is_closing:
                for file, _ in self._poll.poll():
                    if self._is_closing:
                        return
                    self._serve(file)
        except OSError:
            return
        finally:
            self._done.release()

    def _serve(self, file: int) -> None:
        if file == self._listener.fileno():
            with suppress(OSError):
                self._accept()
        elif (connection := self._connections.get(file)) is not None:
            # Whatever a message makes go wrong is its sender's affair: the connection ends.
            with suppress(Exception):
                if self._answered(connection):
                    return
            self._drop(file)

    def _answered(self, connection: Connection) -> bool:
        """Read a message and answer it; False: there is none, or none of ours."""
        try:
            request = Request.unpacked(connection.recv(LONGEST))
        except BlockingIOError:
            return True  # what was to be read came to a connection that has ended, under the same number
        if request is None:
            return False
        answer = self._handle(connection, request)
        if answer is not None:
            _send(connection, *answer)
        return True

    def _accept(self) -> None:
        end, _ = self._listener.accept()
        if not is_same_user(end) or len(self._connections) >= MOST_CONNECTIONS:
            end.close()
            return
        end.setblocking(False)
        self._connections[end.fileno()] = end
        self._poll.register(end, select.POLLIN)

    def _drop(self, file: int) -> None:
        connection = self._connections.pop(file)
        self._poll.unregister(file)
        connection.close()
        self._ended(connection)


def _send(end: socket.socket, reply: Reply, file: int) -> None:
    if file >= 0:
        socket.send_fds(end, [reply.packed()], [file], socket.MSG_NOSIGNAL)
    else:
        end.send(reply.packed(), socket.MSG_NOSIGNAL)

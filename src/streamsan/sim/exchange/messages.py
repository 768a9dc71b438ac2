"""What processes of one user say to each other: short messages of fixed length over sockets without a file.

A socket of the abstract namespace ends with its process, however that ends, and leaves nothing behind.
"""

from __future__ import annotations

import os
import socket
import struct
from enum import IntEnum

from msgspec import Struct

TOKEN_SIZE = 16
"""bytes that name a process: random, so that no later process has the same"""
PATIENCE = 30.0
"""seconds for an answer, after which a process counts as one that gives none"""
_MAGIC = b"simulIP1"
_REQUEST = struct.Struct("<8sIIQQ16s")
_REPLY = struct.Struct("<8siIQQ")
_CREDENTIALS = struct.Struct("3i")
LONGEST = 256
"""bytes that are read of a message: any longer one is none of ours"""


class Operation(IntEnum):
    """What a process asks of another one."""

    OPEN_MEMORY = 1
    CLOSE_MEMORY = 2
    OPEN_EVENT = 3
    CLOSE_EVENT = 4
    GO_ON = 5
    """run what can run: nothing here can"""
    GO_ON_TO = 6
    """run what the record `ticket` of an event needs"""
    GO_ON_AND_SAY = 8
    """GO_ON with an answer, whose `offset` is larger than the last time if the process is about something"""
    SOME_TIME_PASSES = 7
    """run a share of what is pending: somebody looks, perhaps again and again, at what it is to write"""


_OPERATIONS = frozenset(map(int, Operation))


class Request(Struct, frozen=True):
    """One message to the process that answers at a token."""

    operation: Operation
    sender: bytes
    """token of the process that asks"""
    identity: int = 0
    """of what was exported, as its handle says"""
    ticket: int = 0
    number: int = 0
    """GO_ON, GO_ON_TO: how often the wish may be passed on"""

    def packed(self) -> bytes:
        """Return the bytes of the message."""
        return _REQUEST.pack(_MAGIC, self.operation, self.number, self.identity, self.ticket, self.sender)

    @staticmethod
    def unpacked(content: bytes) -> Request | None:
        """Return the message that bytes are; None if they are none."""
        if len(content) != _REQUEST.size:
            return None
        magic, operation, number, identity, ticket, sender = _REQUEST.unpack(content)
        if magic != _MAGIC or operation not in _OPERATIONS:
            return None
        return Request(Operation(operation), sender, identity, ticket, number)


class Reply(Struct, frozen=True):
    """The answer to OPEN_..., with which a file comes if the status is 0, to CLOSE_MEMORY and to GO_ON_AND_SAY."""

    status: int
    number: int = 0
    """of an event: which of its participants the process is that asked"""
    offset: int = 0
    """in the file"""
    size: int = 0
    """bytes of the memory"""

    def packed(self) -> bytes:
        """Return the bytes of the message."""
        return _REPLY.pack(_MAGIC, self.status, self.number, self.offset, self.size)

    @staticmethod
    def unpacked(content: bytes) -> Reply | None:
        """Return the message that bytes are; None if they are none."""
        if len(content) != _REPLY.size:
            return None
        magic, *numbers = _REPLY.unpack(content)
        return Reply(*numbers) if magic == _MAGIC else None


def new_token() -> bytes:
    """Return a name that no other process has."""
    return os.urandom(TOKEN_SIZE)


def address_of(token: bytes) -> bytes:
    """Return the address of the socket at which a process answers."""
    return b"\0streamsan-ipc-" + token.hex().encode()


def is_same_user(connection: socket.socket) -> bool:
    """Return whether the other end of a connection is a process of this user: anybody may use an abstract name."""
    try:
        content = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    except (OSError, AttributeError):
        return False
    return len(content) == _CREDENTIALS.size and _CREDENTIALS.unpack(content)[1] == os.geteuid()

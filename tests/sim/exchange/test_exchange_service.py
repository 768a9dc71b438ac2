"""Messages between processes: bounded, of this user only, and never the program's trouble."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from streamsan.sim.exchange import messages
from streamsan.sim.exchange.connections import Peers, SilentError
from streamsan.sim.exchange.messages import Operation, Reply, Request, address_of, new_token
from streamsan.sim.exchange.service import Answer, Connection, Service


class Answering:
    """A service, and what was said to it."""

    def __init__(self) -> None:
        self.token = new_token()
        self.requests: list[Request] = []
        self.ended: list[Connection] = []
        self.answers = True
        self.service = Service(self.token, self.handle, self.ended.append)

    def handle(self, connection: Connection, request: Request) -> Answer | None:
        self.requests.append(request)
        if request.identity == 13:
            raise ValueError("thirteen")
        if request.operation in (Operation.OPEN_MEMORY, Operation.OPEN_EVENT) and self.answers:
            return Reply(0, request.number, 2, 3), os.open("/dev/null", os.O_RDONLY) if request.ticket else -1
        return None


@contextmanager
def answering() -> Iterator[Answering]:
    made = Answering()
    try:
        yield made
    finally:
        made.service.close()


def connected(token: bytes) -> socket.socket:
    end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    end.settimeout(30)
    end.connect(address_of(token))
    return end


def request(operation: Operation = Operation.OPEN_MEMORY, **fields: int) -> Request:
    return Request(operation, b"s" * 16, **fields)


def test_messages_are_what_they_were() -> None:
    for operation in Operation:
        made = Request(operation, bytes(range(16)), 1 << 63, (1 << 64) - 1, 7)
        assert Request.unpacked(made.packed()) == made
    reply = Reply(-1, 3, 1 << 40, 9)
    assert Reply.unpacked(reply.packed()) == reply
    assert len({new_token() for _ in range(100)}) == 100


@pytest.mark.parametrize(
    "junk",
    [b"x", b"\0" * 48, random.Random(1).randbytes(48), random.Random(2).randbytes(200), b"simulIP1" + b"\xff" * 40],
    ids=["short", "zeros", "of the length", "long", "magic"],
)
def test_junk_ends_the_connection_and_nothing_else(junk: bytes) -> None:
    assert Request.unpacked(junk) is None
    assert Reply.unpacked(junk) is None
    with answering() as service:
        end = connected(service.token)
        end.send(junk)
        assert end.recv(10) == b""
        found = Peers().ask(service.token, request(number=5))
        assert found == (Reply(0, 5, 2, 3), [])
        end.close()


def test_a_request_that_goes_wrong_ends_its_connection_only() -> None:
    with answering() as service:
        peers = Peers()
        assert peers.ask(service.token, request(identity=13)) is None
        assert peers.ask(service.token, request()) is not None
        assert len(service.ended) == 1


def test_files_come_with_answers() -> None:
    with answering() as service:
        found = Peers().ask(service.token, request(ticket=1))
        assert found is not None
        assert os.path.samestat(os.fstat(found[1][0]), os.stat("/dev/null"))
        assert not os.get_inheritable(found[1][0])
        os.close(found[1][0])


def test_nobody_there() -> None:
    peers, token = Peers(), new_token()
    assert peers.ask(token, request()) is None
    assert peers.has_ended(token)
    assert not peers.tell(token, request(Operation.GO_ON))
    assert not peers.has_ended(new_token())


def test_the_end_of_a_service_is_seen() -> None:
    peers = Peers()
    with answering() as service:
        assert peers.ask(service.token, request()) is not None
        assert peers.tell(service.token, request(Operation.GO_ON))
    assert peers.ask(service.token, request()) is None
    assert not peers.tell(service.token, request(Operation.GO_ON))
    assert peers.has_ended(service.token)


def test_no_answer_is_waited_for_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamsan.sim.exchange.connections.PATIENCE", 0.05)
    with answering() as service:
        service.answers = False
        peers = Peers()
        with pytest.raises(SilentError):
            peers.ask(service.token, request())
        service.answers = True
        assert peers.ask(service.token, request(number=2)) == (Reply(0, 2, 2, 3), [])


def test_telling_never_waits() -> None:
    """The other process does not come to read: what does not fit any more is left out."""
    token = new_token()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(address_of(token))
    listener.listen()
    peers = Peers()
    assert all(peers.tell(token, request(Operation.GO_ON)) for _ in range(5000))
    listener.close()
    assert not peers.tell(token, request(Operation.GO_ON))


def test_processes_of_other_users_are_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering() as service:
        monkeypatch.setattr(messages.os, "geteuid", lambda: 123456)
        peers = Peers()
        assert peers.ask(service.token, request()) is None  # it is not one that this user would talk to
        end = connected(service.token)
        assert end.recv(10) == b""  # and the service talks to nobody of another user
        assert service.requests == []
        end.close()


def test_what_answers_with_junk_is_nobody() -> None:
    token = new_token()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(address_of(token))
    listener.listen()
    peers = Peers()
    assert peers.tell(token, request(Operation.GO_ON))
    end, _ = listener.accept()
    socket.send_fds(end, [b"junk"], [0])
    before = len(os.listdir("/proc/self/fd"))
    assert peers.ask(token, request()) is None
    assert len(os.listdir("/proc/self/fd")) <= before
    end.close()
    listener.close()


def test_a_service_leaves_nothing_behind() -> None:
    before = set(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))
    with answering() as service, connected(service.token):
        token = service.token
    # The thread has said that it is through; the system may take a moment to forget it.
    assert set(os.listdir("/proc/self/fd")) == before[0]
    with pytest.raises(ConnectionRefusedError):
        connected(token)


def test_a_name_is_taken_once() -> None:
    with answering() as service:
        before = set(os.listdir("/proc/self/fd"))
        with pytest.raises(OSError, match="in use"):
            Service(service.token, service.handle, service.ended.append)
        assert set(os.listdir("/proc/self/fd")) == before

"""A program on the model, and the operations it left, in words."""

from __future__ import annotations

from dataclasses import dataclass

from streamsan.model.device_model import DeviceModel
from streamsan.model.process_state import HostThread
from streamsan.model.values import Outcome, Value
from streamsan.trace.builder import TraceBuilder
from streamsan.trace.references import Reference, unpacked
from streamsan.trace.rows import Rows, unpacked_rows
from streamsan.trace.site import Site
from streamsan.vocabulary import AccessMode, OperationKind


@dataclass(frozen=True)
class Seen:
    """One operation of a trace."""

    kind: OperationKind
    api: str
    thread: int
    stream: int
    object: int
    address: int
    size: int
    detail: int
    flags: int
    status: int
    label: str
    further: tuple[Reference, ...] = ()
    rows: tuple[tuple[int, Rows], ...] = ()
    """number of a reference, and its rows"""

    @property
    def mode(self) -> AccessMode:
        return AccessMode(self.flags & 3)


class Program:
    """Calls of one host program; each gets a site of its own."""

    def __init__(self, **options) -> None:
        self.builder = TraceBuilder("program.cu")
        self.model = DeviceModel(self.builder, **options)
        self.main: HostThread = self.model.main_thread
        self._line = 0

    def site(self, label: str = "") -> int:
        self._line += 1
        return self.builder.site(Site("program.cu", self._line, label=label))

    def call(self, api: str, *arguments: Value, thread: HostThread | None = None, **more) -> Outcome:
        return self.model.call(thread or self.main, api, arguments, self.site(), **more)

    def make(self, api: str, *arguments: Value, thread: HostThread | None = None) -> Value:
        """Call, expect success, and return the first result."""
        outcome = self.call(api, *arguments, thread=thread)
        assert outcome.status == 0
        return next(iter(outcome.outputs.values()))

    def launch(self, *arguments: Value, stream: Value = 0, mode: AccessMode = AccessMode.READ_WRITE) -> Outcome:
        return self.model.launch(self.main, "kernel", [(each, mode) for each in arguments], stream, self.site())

    def operations(self) -> list[Seen]:
        trace = self.builder.finish()
        found: list[Seen] = []
        for chunk in trace.chunks():
            for slot in chunk:
                kind = OperationKind(int(slot["kind"]))
                if kind is OperationKind.REFERENCES:
                    last = found.pop()
                    fields = {**last.__dict__, "further": last.further + tuple(unpacked(slot.tobytes()))}
                    found.append(Seen(**fields))
                    continue
                if kind is OperationKind.ROWS:
                    last = found.pop()
                    found.append(Seen(**{**last.__dict__, "rows": (*last.rows, unpacked_rows(slot.tobytes()))}))
                    continue
                found.append(
                    Seen(
                        kind,
                        trace.apis[int(slot["api"])],
                        int(slot["thread"]),
                        int(slot["stream"]),
                        int(slot["object"]),
                        int(slot["address"]),
                        int(slot["size"]),
                        int(slot["detail"]),
                        int(slot["flags"]),
                        int(slot["status"]),
                        trace.site(int(slot["site"])).label,
                    )
                )
        return found

    def kinds(self) -> list[str]:
        """The operations' kinds, less those that every program begins with."""
        return [each.kind.name for each in self.operations() if each.kind is not OperationKind.THREAD_START]

    @property
    def last(self) -> Seen:
        return self.operations()[-1]

    def only(self, kind: OperationKind) -> Seen:
        found = [each for each in self.operations() if each.kind is kind]
        assert len(found) == 1, found
        return found[0]

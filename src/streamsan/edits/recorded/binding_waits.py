"""Waits as programs that call cuda.bindings write them: its functions by their names there, checked as others are."""

from __future__ import annotations

from streamsan.edits.language import Code
from streamsan.edits.python.checks import Checks
from streamsan.edits.python.phrases import PythonPhrases
from streamsan.edits.python.places import PythonPlace
from streamsan.findings.finding import Edit

EVENT = "streamsan_event"
Put = tuple[Code, list[Edit]]
"""code, and the imports that it needs"""


class _NoModules:
    """What a frame could name: a recording does not show that, so that modules are known by imports alone."""

    def modules(self, row: int, level: int) -> dict[str, list[str]]:
        """Return no names of modules."""
        return {"runtime": [], "driver": []}


class BindingWaits:
    """Writes waits at one place."""

    def __init__(self, place: PythonPlace) -> None:
        self._phrases = PythonPhrases(place, _NoModules(), 0, Checks(place.text), ())

    def stream_waits(self, runs: str, waits: str) -> Put:
        """One stream waits for what another one has so far."""
        phrases = self._phrases
        calls = phrases.calls
        destroy = "cuEventDestroy" if calls.driver else "cudaEventDestroy"
        code = next(phrases.new_event(EVENT)) + phrases.call(calls.record, EVENT, runs)
        code += phrases.call(calls.stream_wait, waits, EVENT, "0")
        return code + Code(phrases.call(destroy, EVENT).lines), phrases.imports

    def event_awaited(self, event: str, waits: str) -> Put:
        """A stream, or with "" the host, waits for an event."""
        calls = self._phrases.calls
        if waits:
            return self._phrases.call(calls.stream_wait, waits, event, "0"), self._phrases.imports
        return self._phrases.call(calls.event_wait, event), self._phrases.imports

    def host_waits(self, runs: str) -> Put:
        """The host waits for a stream, or with "" for all."""
        calls = self._phrases.calls
        code = self._phrases.call(calls.stream_sync, runs) if runs else self._phrases.call(calls.device_sync)
        return code, self._phrases.imports

"""Objects by which threads of the host tell each other what they have seen."""

from __future__ import annotations

from streamsan.cuda_source.library.modelled import Modelled
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax.tree import Span
from streamsan.vocabulary import EdgeClass


class Synchroniser(Modelled):
    """An object with a sync key of the model."""

    class_name = "synchroniser"
    synchronises = True

    def __init__(self, type: CType) -> None:
        super().__init__(type)
        self._key = 0

    def acquire(self, machine: Machine, span: Span) -> None:
        """See what was released."""
        device = machine.device
        self._key = self._key or device.model.sync_key()
        device.model.acquire(device.thread, self._key, EdgeClass.RUN, device.site(span))

    def release(self, machine: Machine, span: Span) -> None:
        """Publish what the thread has seen."""
        device = machine.device
        self._key = self._key or device.model.sync_key()
        device.model.release(device.thread, self._key, EdgeClass.RUN, device.site(span))
        machine.signals.told += 1

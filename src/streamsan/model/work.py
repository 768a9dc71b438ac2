"""What a piece of device work does to bytes. The model makes it for the executor; the trace has references only.

Addresses are numbers here: in simulation every address is known. Sizes and pitches are in bytes unless told otherwise.
"""

from __future__ import annotations

from msgspec import Struct

from streamsan.trace.references import Reference


class Place(Struct, frozen=True):
    """One side of a copy: where its first byte lies, and how far apart rows and slices begin."""

    address: int
    pitch: int = 0
    """bytes from row to row; 0: there is one row"""
    slice_pitch: int = 0
    """bytes from slice to slice; 0: there is one slice"""
    end: int = 0
    """one past the last byte of the host's buffer that it lies in; 0: nobody knows that, or it is CUDA's memory"""


class CopyForm(Struct, frozen=True):
    """How a copy was asked for, beyond what it does to bytes: a driver's waits may rest on it."""

    asynchronous: bool = True
    to_host: bool = False
    """its direction says that the destination is the host's"""
    from_host: bool = False


class CopyWork(Struct, frozen=True):
    """Copies `depth` slices of `height` rows of `width` bytes."""

    to: Place
    source: Place
    width: int
    height: int = 1
    depth: int = 1
    form: CopyForm = CopyForm()


class FillWork(Struct, frozen=True):
    """Fills `depth` slices of `height` rows of `width` elements with a value of `element` bytes (1, 2 or 4)."""

    to: Place
    value: int
    element: int
    width: int
    height: int = 1
    depth: int = 1


class KernelWork(Struct, frozen=True):
    """A kernel. `payload` is what the caller of the model gave with the launch: how to compute it."""

    name: str
    references: tuple[Reference, ...]
    payload: object = None


class HostWork(Struct, frozen=True):
    """A host function: `payload` is what the caller of the model gave with it."""

    payload: object = None
    key: int = 0
    """the sync key under which its body runs, 0 if the body is not in view"""


class ValueWork(Struct, frozen=True):
    """A stream memory operation: writes `value`, or waits until what is in memory meets it."""

    address: int
    size: int
    """4 or 8"""
    value: int
    condition: str
    """"write", or the wait's condition: "geq", "eq", "and", "nor" """

    def is_met_by(self, found: int) -> bool:
        """Return whether a word that holds `found` satisfies the wait."""
        bits = 8 * self.size
        mask = (1 << bits) - 1
        value = self.value & mask
        match self.condition:
            case "geq":  # cyclic: as a signed difference
                return not (found - value) & mask & 1 << bits - 1
            case "eq":
                return found & mask == value
            case "and":
                return found & value != 0
            case "nor":
                return ~(found | value) & mask != 0
            case _:
                return True


class NoWork(Struct, frozen=True):
    """Takes its place in the stream and changes no byte (a prefetch, an empty node)."""


Work = CopyWork | FillWork | KernelWork | HostWork | ValueWork | NoWork

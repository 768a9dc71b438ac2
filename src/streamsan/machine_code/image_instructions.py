"""Instructions that reach memory through a texture or surface object: by which object, and at which coordinates."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from streamsan.machine_code import opcodes
from streamsan.machine_code.instruction_operands import Address, Constant, Operand, Register, is_predicate, operand

IMAGE_ACCESSES = opcodes.IMAGE_READS | opcodes.IMAGE_WRITES | opcodes.IMAGE_UPDATES
_SHAPES = {"1D": 1, "2D": 2, "3D": 3}
_LAYERED = {"ARRAY_1D": 2, "ARRAY_2D": 3, "1D_ARRAY": 2, "2D_ARRAY": 3}
_WORD = 4
"""bytes: the place in constant memory is said in words"""
_NO_PLACE = frozenset({"TXD", "TLD4"})
"""their coordinates are not those of one texel"""
_MOVED = frozenset({"AOFFI", "MS"})
"""suffixes of those that are given more than coordinates"""
_SCATTERED = "SCR"


class Coordinates(Struct, frozen=True):
    """Where an instruction reaches an image."""

    registers: tuple[int | None, ...]
    """x first; None: 0"""
    floats: tuple[bool, ...]
    """of each whether it is a floating-point number"""


class ImageAccess(Struct, frozen=True):
    """What one instruction does to an image."""

    way: str
    """read, write or update"""
    handle: Operand
    """where the number of the object is: a register, or a word of constant memory; None: not known"""
    coordinates: Coordinates | None
    """None: not known"""


def image_access(opcode: str, operands: Sequence[str]) -> ImageAccess | None:
    """Return what an instruction does to an image; None: it accesses none."""
    name = opcode.partition(".")[0]
    if name not in IMAGE_ACCESSES:
        return None
    way = "read" if name in opcodes.IMAGE_READS else "write" if name in opcodes.IMAGE_WRITES else "update"
    handle = image_handle([operand(text) for text in operands if not is_predicate(text)])
    return ImageAccess(way, handle, image_coordinates(opcode, operands))


def image_handle(operands: Sequence[Operand]) -> Operand:
    """Return where the instruction has the number of the object from; None where that is not known.

    It is a register (`UR4` or `UR4,0x0`), or bank and word of constant memory (`0x0,0x58`). Behind it may be the
    image's shape, which `operand` does not know.
    """
    shape = next((at for at, each in enumerate(operands) if each is None), len(operands))
    *_, before, last = (None, None, *operands[:shape])
    if isinstance(before, int) and isinstance(last, int):
        return Constant(before, _WORD * last)
    if isinstance(before, Register) and last == 0:
        return before
    return last if isinstance(last, Register) else None


def image_coordinates(opcode: str, operands: Sequence[str]) -> Coordinates | None:
    """Return which registers say where; None where that is not known."""
    name, *suffixes = opcode.split(".")
    if name in _NO_PLACE or not _MOVED.isdisjoint(suffixes):
        return None
    if is_of_surface(name):
        return _on_surface(suffixes, operands)
    texts = [text for text in operands if not is_predicate(text)]
    shape = next((text for text in texts if text in _SHAPES or text in _LAYERED), "")
    # Two results come first.
    places = [operand(text) for text in texts[2:4]]
    count = _SHAPES.get(shape) or _LAYERED.get(shape)
    if not count or not places or not isinstance(places[0], Register) or places[0].number is None:
        return None
    first = places[0].number
    numbers = [first + at for at in range(count)]
    if _SCATTERED in suffixes and count > 2:
        # Two are in one place, the others in another one.
        if len(places) < 2 or not isinstance(places[1], Register) or places[1].number is None:
            return None
        numbers[2:] = [places[1].number + at for at in range(count - 2)]
    whole = name == "TLD"
    floats = [not whole] * count
    if shape in _LAYERED:
        # The layer comes first.
        numbers = [*numbers[1:], numbers[0]]
        floats[-1] = False
    return Coordinates(tuple(numbers), tuple(floats))


def is_of_surface(name: str) -> bool:
    """Tell whether an instruction that accesses an image does so by a surface object, no texture object."""
    return name.startswith("SU")


def is_on_line(opcode: str, operands: Sequence[str]) -> bool:
    """Tell whether texels are counted from the first one on: `tex1Dfetch`, of memory that is a line of them."""
    return opcode.startswith("TLD.") and "1D" in operands


def _on_surface(suffixes: Sequence[str], operands: Sequence[str]) -> Coordinates | None:
    count = next((counts[each] for each in suffixes for counts in (_SHAPES, _LAYERED) if each in counts), 0)
    place = next((found for found in map(operand, operands) if isinstance(found, Address)), None)
    if not count or place is None or len(place.registers) != 1 or place.constant:
        return None
    first = place.registers[0].number
    if first is None:
        return Coordinates((None,), (False,)) if count == 1 else None
    return Coordinates(tuple(first + at for at in range(count)), (False,) * count)

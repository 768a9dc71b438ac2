"""Which texels threads access, and by which of a launch's texture and surface objects.

A texel is told by one number: that of its column, of its row times 2^21, and of its slice or layer times 2^42. It is in
the place of an address, which counts from the object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from streamsan.machine_code.image_instructions import Coordinates, ImageAccess
from streamsan.machine_code.instruction_operands import Constant, Register
from streamsan.machine_code.lane_arithmetic import SIGNED, as_float
from streamsan.machine_code.lane_state import State
from streamsan.machine_code.lane_values import (
    PARTS,
    WHOLE,
    Half,
    Mask,
    Sum,
    Wide,
    bounds,
    every,
    fitted,
    is_number,
    mask_of,
    product,
    total,
)

IMAGE = -4
"""the base of texels"""
_AXIS_BITS = 21
_REACH = 1 << _AXIS_BITS - 1
_WORD_BITS = (1 << 32) - 1


def texel_of(state: State, coordinates: Coordinates | None) -> Wide:
    """Return which texel each thread accesses, as a sum whose base is `IMAGE`; None: not known."""
    if coordinates is None:
        return None
    found: Wide = Sum(IMAGE, 0)
    fractions, counted = False, False
    for axis, (register, is_float) in enumerate(zip(coordinates.registers, coordinates.floats, strict=True)):
        value = state.register(register)
        if not is_float:
            number = fitted(value, SIGNED)
        elif isinstance(value, int):
            number, fraction = _floor(value)
            fractions = fractions or fraction
        elif isinstance(value, Half) and value.whole.base in (WHOLE, PARTS):
            number, counted = total(Sum(None, value.whole.constant, value.whole.terms), 0), True
        else:
            number = None
        if number is None or (len(coordinates.registers) > 1 and not _within_reach(number)):
            return None
        found = total(found, product(number, 1 << _AXIS_BITS * axis))
    # `tex2D(t, 0.5f, 0.5f)` may mean the middle, where coordinates go from 0 to 1: only beside one that counts texels
    # is a number that is not whole one of a texel.
    return found if counted or not fractions else None


def images_named(state: State, image: ImageAccess, words: Sequence[int | str]) -> Iterator[tuple[int, Mask | None]]:
    """Yield the words by which an instruction may go, and which threads go by each; None: that is not known."""
    own = [word for word in words if isinstance(word, int)]
    if len(own) == 1:
        yield own[0], True
        return
    handle = image.handle
    if isinstance(handle, Register):
        number = state.register(handle.number)
    else:
        number = state.launch.constant(handle.offset) if isinstance(handle, Constant) and not handle.bank else None
    for word in own:
        held = state.launch.constant(state.launch.layout.base + word)
        if is_number(number) and isinstance(held, int):
            yield word, mask_of(number & _WORD_BITS == held & _WORD_BITS)
        else:
            yield word, None


def _floor(bits: int) -> tuple[Wide, bool]:
    """The whole part of a floating-point number, and whether there is more."""
    value = as_float(bits)
    if value != value or abs(value) >= _REACH:
        return None, False
    return int(value // 1), value % 1 != 0


def _within_reach(number: Wide) -> bool:
    limits = None if number is None else bounds(number)
    return limits is not None and every(mask_of(limits[0] > -_REACH)) and every(mask_of(limits[1] < _REACH))

"""Bytes in words, and what two accesses share."""

from __future__ import annotations

import random

import pytest

from streamsan.findings.access import Bytes
from streamsan.order.facts import AllocationFact, Touch
from streamsan.rules.touched_bytes import bytes_of, in_words, pitch_of, shared
from streamsan.trace.rows import Rows
from streamsan.vocabulary import MemoryKind

SIZE = 8192


def rows(first: int, width: int, pitch: int, count: int, slice_pitch: int = 0, slices: int = 1) -> Bytes:
    extent = Rows(width, pitch, count, slice_pitch, slices).extent
    return Bytes(first, first + extent - 1, width, pitch, count, slice_pitch, slices)


@pytest.mark.parametrize(
    ("touched", "pitch", "words"),
    [
        (Bytes(0, SIZE - 1), 0, "all of it"),
        (Bytes(0, 1023), 0, "bytes 0 to 1,023 of it"),
        (Bytes(12, 12), 0, "byte 12 of it"),
        (Bytes(0, None), 0, "it"),
        (Bytes(4096, None), 0, "it from byte 4,096 on"),
        (Bytes(512, 2047), 512, "rows 1 to 3 of it, rows of 512 bytes"),
        (Bytes(512, 1023), 512, "row 1 of it, rows of 512 bytes"),
        (Bytes(520, 523), 512, "bytes 8 to 11 of row 1 of it, rows of 512 bytes"),
        (Bytes(520, 1999), 512, "bytes 520 to 1,999 of it"),
        (rows(0, 256, 512, 16), 512, "bytes 0 to 255 of rows 0 to 15 of it, rows of 512 bytes"),
        (rows(1028, 4, 512, 8), 512, "bytes 4 to 7 of rows 2 to 9 of it, rows of 512 bytes"),
        (rows(4, 4, 8, 16), 0, "4 in every 8 bytes, in bytes 4 to 127 of it"),
        (rows(400, 256, 512, 4), 0, "256 in every 512 bytes, in bytes 400 to 2,191 of it"),
        (
            rows(2048, 128, 512, 4, 2048, 3),
            0,
            "bytes 0 to 127 of rows 0 to 3 in slices 1 to 3 of it, rows of 512 bytes",
        ),
    ],
)
def test_bytes_in_words(touched: Bytes, pitch: int, words: str) -> None:
    assert in_words(touched, "it", SIZE, pitch) == words


def test_bytes_count_from_the_allocation_s_first() -> None:
    allocation = AllocationFact(0x1000, SIZE, 1, MemoryKind.PLAIN, False, 1)
    assert bytes_of(Touch(0x1000, 0x1100), allocation) == Bytes(0, 255)
    assert bytes_of(Touch(0x1010, 0), allocation) == Bytes(16, None)
    assert bytes_of(Touch(0x1010, 0x1020), None) is None
    assert bytes_of(Touch(0xFFF, 0x1020), allocation) is None
    assert bytes_of(None, allocation) is None
    some = bytes_of(Touch(0x1010, 0x1010 + 520, Rows(8, 512, 2)), allocation)
    assert some == Bytes(16, 535, 8, 512, 2)
    assert pitch_of(None, Bytes(0, 255), some) == 512


def addresses(touched: Bytes) -> set[int]:
    assert touched.last is not None
    if not touched.count:
        return set(range(touched.first, touched.last + 1))
    return {
        touched.first + at * touched.slice_pitch + row * touched.pitch + byte
        for at in range(touched.slices)
        for row in range(touched.count)
        for byte in range(touched.width)
    }


def any_bytes(random_: random.Random) -> Bytes:
    first = random_.randrange(0, 700)
    if random_.random() < 0.4:
        return Bytes(first, first + random_.randrange(0, 600))
    pitch = random_.choice((8, 64, 64, 64, 96))
    width, count = random_.randrange(1, pitch), random_.randrange(2, 9)
    if random_.random() < 0.8:
        return rows(first, width, pitch, count)
    return rows(first, width, pitch, count, pitch * (count + random_.randrange(0, 2)), random_.randrange(2, 4))


def test_what_is_shared_is_what_both_touch() -> None:
    random_ = random.Random(14)
    said = 0
    for _ in range(3000):
        one, other = any_bytes(random_), any_bytes(random_)
        found = shared(one, other)
        both = addresses(one) & addresses(other)
        if found is not None:
            said += 1
            assert addresses(found) == both, (one, other)
        elif not one.count and not other.count:
            assert not both
    assert said > 500


def test_of_what_has_no_end_nothing_is_shared() -> None:
    assert shared(Bytes(0, None), Bytes(0, 7)) is None
    assert shared(Bytes(0, 7), Bytes(0, None)) is None

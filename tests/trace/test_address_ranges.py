"""Ranges of addresses of compilation units, as `.debug_aranges` has them."""

from __future__ import annotations

import struct

import pytest

from streamsan.trace.symboliser.address_ranges import AddressRanges


def one_set(unit: int, *ranges: tuple[int, int], order: str = "<", long: bool = False, version: int = 2) -> bytes:
    head = struct.pack(f"{order}H{'Q' if long else 'I'}BB", version, unit, 8, 0)
    begin = 12 if long else 4
    head += bytes(-(begin + len(head)) % 16)
    body = head + b"".join(struct.pack(f"{order}2Q", *each) for each in (*ranges, (0, 0)))
    return (struct.pack(f"{order}IQ", 0xFFFFFFFF, len(body)) if long else struct.pack(f"{order}I", len(body))) + body


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("long", [False, True])
def test_units_are_found_by_address(order: str, long: bool) -> None:
    content = one_set(0x40, (0x2000, 16), (0x1000, 8), order=order, long=long)
    content += one_set(0x90, (0x1008, 8), order=order, long=long)
    ranges = AddressRanges(content, order == "<")
    asked = [0xFFF, 0x1000, 0x1007, 0x1008, 0x1010, 0x2000, 0x200F, 0x2010]
    assert [ranges.unit_at(each) for each in asked] == [None, 0x40, 0x40, 0x90, None, 0x40, 0x40, None]


def test_of_no_ranges_none_covers_an_address() -> None:
    assert AddressRanges(b"", True).unit_at(0) is None
    assert AddressRanges(one_set(0x40), True).unit_at(0) is None


@pytest.mark.parametrize(
    "content",
    [
        one_set(0x40, (0x1000, 8), version=7),
        one_set(0x40, (0x1000, 8))[:-4],
        one_set(0x40, (0x1000, 8)) + b"\1",
        b"\0\0\0\0",
        b"\xff\xff\xff\xff\0",
    ],
)
def test_damaged_ranges_are_not_read(content: bytes) -> None:
    with pytest.raises((ValueError, struct.error)):
        AddressRanges(content, True)

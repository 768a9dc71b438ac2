"""Bytes of an allocation in words, and which bytes two accesses share."""

from __future__ import annotations

from streamsan.findings.access import Bytes
from streamsan.order.facts import AllocationFact, Touch

SHORTEST_PITCH = 64
"""bytes; what lies nearer together are elements and no rows"""


def bytes_of(touch: Touch | None, allocation: AllocationFact | None) -> Bytes | None:
    """Return which bytes of the allocation are touched; None where that is not known."""
    if touch is None or allocation is None or touch.begin < allocation.address:
        return None
    if not allocation.size:  # addresses in it only say what is beside what
        return None
    first = touch.begin - allocation.address
    if not touch.end:
        return Bytes(first, None, within=_within(touch, allocation))
    last = touch.end - 1 - allocation.address
    if touch.rows is None:
        return Bytes(first, last)
    rows = touch.rows
    return Bytes(first, last, rows.width, rows.pitch, rows.count, rows.slice_pitch, rows.slices)


def _within(touch: Touch, allocation: AllocationFact) -> tuple[int, int] | None:
    """Return the first and the last byte of the allocation that may be touched; None where these may be all."""
    if touch.within is None or not allocation.size:
        return None
    low = max(0, touch.within[0] - allocation.address)
    high = min(allocation.size, touch.within[1] - allocation.address)
    return (low, high - 1) if low < high and (low, high) != (0, allocation.size) else None


def in_words(touched: Bytes, memory: str, size: int, pitch: int = 0) -> str:
    """Return "bytes 0 to 1,023 of `d_x`", "all of it", "rows 0 to 63 of it".

    `size` is the allocation's, 0 where it is not known. `pitch`: of rows that others touch in the same memory, 0: none.
    """
    if touched.within is not None:
        return f"some of {_span('byte', *touched.within)} of {memory}"
    if touched.last is None:
        return f"{memory} from byte {touched.first:,} on" if touched.first else memory
    if touched.count:
        return _rows_in_words(touched, memory)
    if touched.first == 0 and touched.last + 1 == size:
        return f"all of {memory}"
    rows = _as_rows(touched, pitch, memory)
    return rows or f"{_span('byte', touched.first, touched.last)} of {memory}"


def pitch_of(*several: Bytes | None) -> int:
    """Return how far apart the rows lie of those that have some, 0 where none has."""
    return next((each.pitch for each in several if each is not None and _has_grid(each)), 0)


def _span(noun: str, first: int, last: int) -> str:
    return f"{noun} {first:,}" if first == last else f"{noun}s {first:,} to {last:,}"


def _has_grid(touched: Bytes) -> bool:
    """Tell whether what is touched are rows, each from the same column to the same column."""
    return (
        touched.count > 0
        and touched.pitch >= SHORTEST_PITCH
        and _column(touched) + touched.width <= touched.pitch
        and (touched.slices == 1 or touched.slice_pitch % touched.pitch == 0)
    )


def _column(touched: Bytes) -> int:
    return touched.first % touched.pitch


def _rows_in_words(touched: Bytes, memory: str) -> str:
    width, pitch = f"{touched.width:,}", f"{touched.pitch:,}"
    if not _has_grid(touched) or touched.last is None:
        span = f"bytes {touched.first:,} to {touched.last:,} of {memory}"
        return f"{width} in every {pitch} bytes, in {span}"
    column = _column(touched)
    columns = _span("byte", column, column + touched.width - 1)
    if touched.slices == 1:
        row = touched.first // pitch_of(touched)
        return f"{columns} of {_span('row', row, row + touched.count - 1)} of {memory}, rows of {pitch} bytes"
    slice_number, below = divmod(touched.first, touched.slice_pitch)
    row = below // touched.pitch
    slices = _span("slice", slice_number, slice_number + touched.slices - 1)
    return f"{columns} of {_span('row', row, row + touched.count - 1)} in {slices} of {memory}, rows of {pitch} bytes"


def _as_rows(touched: Bytes, pitch: int, memory: str) -> str:
    """Return the words for a range as whole rows, or as a part of one; "" where it is neither."""
    if not pitch or touched.last is None:
        return ""
    row, column = divmod(touched.first, pitch)
    last_row, last_column = divmod(touched.last, pitch)
    if row == last_row and last_column - column + 1 < pitch:
        return f"{_span('byte', column, last_column)} of row {row:,} of {memory}, rows of {pitch:,} bytes"
    if column == 0 and last_column == pitch - 1:
        return f"{_span('row', row, last_row)} of {memory}, rows of {pitch:,} bytes"
    return ""


def shared(one: Bytes, other: Bytes) -> Bytes | None:
    """Return the bytes that both touch; None where there are none, or it takes more than one range or grid to say."""
    if one.last is None or other.last is None:
        return None
    if one.count and other.count:
        return _shared_rows(one, other)
    if one.count:
        return _rows_in_range(one, other.first, other.last)
    if other.count:
        return _rows_in_range(other, one.first, one.last)
    first, last = max(one.first, other.first), min(one.last, other.last)
    return Bytes(first, last) if first <= last else None


def _rows_in_range(rows: Bytes, first: int, last: int) -> Bytes | None:
    """Return the rows that lie in a range; None where it cuts one, and touches others."""
    if rows.slices != 1:
        covered = rows.last is not None and first <= rows.first and rows.last <= last
        return rows if covered else None
    begin = max(0, -((rows.first + rows.width - 1 - first) // rows.pitch))
    end = min(rows.count - 1, (last - rows.first) // rows.pitch)
    if begin > end:
        return None
    at = rows.first + begin * rows.pitch
    if begin == end:
        return Bytes(max(at, first), min(at + rows.width - 1, last))
    last_row = rows.first + end * rows.pitch
    if at < first or last_row + rows.width - 1 > last:
        return None
    return Bytes(at, last_row + rows.width - 1, rows.width, rows.pitch, end - begin + 1)


def _shared_rows(one: Bytes, other: Bytes) -> Bytes | None:
    if one == other:
        return one
    if not (_has_grid(one) and _has_grid(other)) or one.pitch != other.pitch or (one.slices, other.slices) != (1, 1):
        return None
    pitch = one.pitch
    rows = max(one.first // pitch, other.first // pitch)
    last_row = min(one.first // pitch + one.count, other.first // pitch + other.count) - 1
    column = max(_column(one), _column(other))
    last_column = min(_column(one) + one.width, _column(other) + other.width) - 1
    if rows > last_row or column > last_column:
        return None
    first, last = rows * pitch + column, last_row * pitch + last_column
    if rows == last_row:
        return Bytes(first, last)
    return Bytes(first, last, last_column - column + 1, pitch, last_row - rows + 1)

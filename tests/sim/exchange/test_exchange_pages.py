"""Pages that become a file's, and windows on such files."""

from __future__ import annotations

import os

import numpy as np
import pytest

from streamsan.sim.exchange.shared_pages import PageFile, Window
from streamsan.sim.executor.memory_files import new_file
from streamsan.sim.executor.regions import PAGE, Region


def test_what_is_shared_stays_where_and_what_it_is() -> None:
    region = Region(64 * PAGE)
    region.bytes[:] = np.arange(region.size, dtype=np.uint64).astype(np.uint8)
    expected = region.bytes.copy()
    pages = PageFile(region)
    offset = pages.share(region.start + 3 * PAGE + 100, 2 * PAGE)
    assert offset == 3 * PAGE + 100
    assert (region.bytes == expected).all()
    window = Window(pages.file, offset, 2 * PAGE, [])
    at = window.address - window.region.start
    assert (window.region.bytes[at : at + 2 * PAGE] == expected[offset : offset + 2 * PAGE]).all()
    region.bytes[offset] = 77
    assert window.region.bytes[at] == 77
    window.region.bytes[at + 1] = 78
    assert region.bytes[offset + 1] == 78
    # Neighbours on the same page, and ranges that overlap, go on as they are.
    assert pages.share(region.start + 3 * PAGE, PAGE) == 3 * PAGE
    assert pages.share(region.start, 6 * PAGE) == 0
    assert region.bytes[offset] == 77
    assert (region.bytes[offset + 2 :] == expected[offset + 2 :]).all()
    pages.close()
    region.bytes[offset] = 79
    assert window.region.bytes[at] == 79


def test_untouched_pages_take_no_room() -> None:
    region = Region(1 << 30)
    region.bytes[512 << 20] = 1
    pages = PageFile(region)
    pages.share(region.start, region.size)
    assert os.fstat(pages.file).st_blocks * 512 <= 4 * PAGE
    assert region.bytes[512 << 20] == 1
    pages.close()


def test_closed_windows_leave_their_addresses_for_the_next() -> None:
    file = new_file(4 * PAGE)
    spare: list[Region] = []
    window = Window(file, PAGE, PAGE, spare)
    window.region.bytes[0] = 5
    start = window.region.start
    window.close(spare)
    assert window.region.bytes[0] == 0
    again = Window(file, PAGE, PAGE, spare)
    assert (again.region.start, int(again.region.bytes[0]), spare) == (start, 5, [])
    os.close(file)


@pytest.mark.parametrize(("offset", "size"), [(0, 5 * PAGE), (4 * PAGE, 1), (1 << 62, PAGE), (0, 1 << 62)])
def test_no_window_reaches_beyond_its_file(offset: int, size: int) -> None:
    file = new_file(4 * PAGE)
    with pytest.raises(OSError, match="the file is not"):
        Window(file, offset, size, [])
    os.close(file)

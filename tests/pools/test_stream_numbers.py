"""Streams of any library as pools name them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from streamsan.pools import hand_out, record_stream, take_back
from streamsan.pools.stream_numbers import number_of


@pytest.mark.parametrize(
    ("stream", "number"),
    [
        (None, 0),
        (0, 1),
        (2, 2),
        (0x5500, 0x5500),
        (SimpleNamespace(cuda_stream=0), 1),
        (SimpleNamespace(cuda_stream=77), 77),
        (SimpleNamespace(ptr=78), 78),
        (SimpleNamespace(__cuda_stream__=lambda: (0, 79), ptr=1), 79),
        (SimpleNamespace(__cuda_stream__=(0, 80)), 80),
    ],
)
def test_a_stream_of_any_library(stream: object, number: int) -> None:
    assert number_of(stream) == number


@pytest.mark.parametrize("stream", ["7", 1.5, object(), SimpleNamespace(ptr="7")])
def test_what_is_no_stream(stream: object) -> None:
    with pytest.raises(TypeError, match="is no stream"):
        number_of(stream)


def test_nobody_hears() -> None:
    hand_out(4096, 64, 7)
    record_stream(4096, 8)
    take_back(4096, 7)

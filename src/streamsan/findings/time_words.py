"""Times in words, as reports say them."""

from __future__ import annotations


def time_in_words(nanoseconds: int) -> str:
    """Return a time with the unit that suits it: "1.25 s", "3.40 ms", "12.0 us"."""
    if nanoseconds >= 1_000_000_000:
        return f"{nanoseconds / 1e9:.2f} s"
    if nanoseconds >= 1_000_000:
        return f"{nanoseconds / 1e6:.2f} ms"
    return f"{nanoseconds / 1e3:.1f} us"

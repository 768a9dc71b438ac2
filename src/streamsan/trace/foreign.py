"""Says what a file is that is not a trace."""

from __future__ import annotations

KNOWN = (
    (b"SQLite format 3\0", "an SQLite database, such as nsys exports"),
    (b"\x7fELF", "an ELF binary"),
    (b"\x1f\x8b", "gzip-compressed data"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"PAR1", "a Parquet file"),
    (b"\x89PNG", "a PNG image"),
    (b"%PDF", "a PDF document"),
)


def looks_like(start: bytes) -> str:
    """Return what a file with these first bytes seems to be ("an ELF binary"), or "" when nothing is known."""
    for magic, name in KNOWN:
        if start.startswith(magic):
            return name
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] in (b"{", b"["):
        return "JSON"
    if start and all(byte >= 32 or byte in b"\t\n\r\f" for byte in start):
        return "text"
    return ""

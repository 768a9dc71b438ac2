"""Texts to quote for findings of traces: the sources they name, where these are at hand."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from streamsan.analysis.source_files import SOURCE_SUFFIXES
from streamsan.findings.finding import Finding

QUOTED_SUFFIXES = SOURCE_SUFFIXES | {".py"}
LARGEST = 8 << 20
"""bytes of a file that is quoted from"""


def quoted_sources(findings: Iterable[Finding], known: Mapping[str, str]) -> dict[str, str]:
    """Return the known texts, and those of further sources that findings name and that can be read."""
    texts = dict(known)
    tried: set[str] = set()
    for finding in findings:
        for file in (finding.location.file, *(related.file for related in finding.related)):
            if file not in texts and file not in tried:
                tried.add(file)
                text = _read(file)
                if text is not None:
                    texts[file] = text
    return texts


def _read(file: str) -> str | None:
    # A trace is untrusted: it names sources, and nothing else on this machine is quoted because it says so.
    if Path(file).suffix.lower() not in QUOTED_SUFFIXES or "\0" in file:
        return None
    try:
        if not os.path.isfile(file) or os.path.getsize(file) > LARGEST:
            return None
        data = Path(file).read_bytes()
    except OSError:
        return None
    return data.decode("utf-8", errors="replace").replace("\r\n", "\n")

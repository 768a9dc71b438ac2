"""What a recorded line of source calls what a call on it makes: `b.mask` of `CHECK(cudaMalloc(&b.mask, n));`.

A recording has no names of variables, but it carries the lines of its calls. A name is taken only where the line itself
has the call: what a framework's line makes may be a pool's, and serve others later.
"""

from __future__ import annotations

import re

from streamsan.findings.suppressions import PYTHON_SUFFIXES

LONGEST_NAME = 40
"""characters"""
MEMORY = re.compile(r"\b(?:cudaMalloc\w*|cudaHostAlloc|cudaHostRegister|cuMem(?:Host)?Alloc\w*|cuMemHostRegister\w*)\b")
"""calls that give memory, by their first argument in C++ and as their result in Python"""
STREAM = re.compile(r"\b(?:cudaStreamCreate\w*|cuStreamCreate\w*)\b")
"""the same of streams"""

_NAME = r"[A-Za-z_]\w*(?:(?:\.|->)[A-Za-z_]\w*|\[[\w ]{1,20}\])*"
_CAST = r"(?:\(\s*[\w:]+(?:\s*<[^<>]*>)?[\s*]*\)\s*|(?:reinterpret|static)_cast\s*<[^<>]*(?:<[^<>]*>)?[^<>]*>\s*\(\s*)?"
_OUT = re.compile(rf"\s*(?:<[^<>()]*>)?\s*\(\s*{_CAST}&\s*(?P<name>{_NAME})\s*[,)]")
_REGISTERED = re.compile(rf"\s*\(\s*{_CAST}(?P<name>{_NAME})\s*[,)]")
_TARGET = re.compile(rf"\s*(?:\w+\s*,\s*)?(?P<name>{_NAME})\s*,?\s*(?::[^=()]*)?=(?!=)")
_COMMON = frozenset(
    (
        "buf",
        "buffer",
        "data",
        "dev",
        "device",
        "mem",
        "memory",
        "out",
        "pointer",
        "ptr",
        "raw",
        "result",
        "ret",
        "stream",
    )
)
"""how functions that make something for others call it"""


def name_in_line(file: str, text: str, makes: re.Pattern[str], *, inner: bool) -> str:
    """Return the variable that gets what a line of source makes, "" where that is not clear.

    `makes`: MEMORY or STREAM. `inner`: a function that is called from elsewhere in the program makes it: there a local
    variable's name says little.
    """
    found = list(makes.finditer(text))
    if len(found) != 1:
        return ""
    if file.endswith(PYTHON_SUFFIXES):
        match = _TARGET.match(text) if text.find("=") < found[0].start() else None
    else:
        registers = "Register" in found[0][0]
        match = (_REGISTERED if registers else _OUT).match(text, found[0].end())
    name = match["name"] if match is not None else ""
    if len(name) > LONGEST_NAME or (inner and (len(name) < 2 or name in _COMMON)):
        return ""
    return name

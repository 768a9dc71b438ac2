"""What a recorded line of source calls what a call on it makes: `b.mask` of `CHECK(cudaMalloc(&b.mask, n));`, `frames`
of `cl_mem frames = clCreateBuffer(...)`.

A recording has no names of variables, but it carries the lines of its calls. A name is taken only where the line itself
has the call: what a framework's line makes may be a pool's, and serve others later.
"""

from __future__ import annotations

import re

from streamsan.findings.suppressions import PYTHON_SUFFIXES
from streamsan.patterns.late_pattern import late_pattern

LONGEST_NAME = 40
"""characters"""
MEMORY = late_pattern(
    r"""
    \b(?:cudaMalloc\w*|cudaHostAlloc|cudaHostRegister|cuMem(?:Host)?Alloc\w*|cuMemHostRegister\w*
    # As their result: of OpenCL in C, of its wrappers in C++ and Python.
    | (?P<result>clCreate(?:Sub)?(?:Buffer|Image|Pipe)\w*|clSVMAlloc\w*|cl\w*MemAllocINTEL|clEnqueueMap(?:Buffer|Image))
    | (?P<made>cl(?:::|\.)(?:Buffer|Image\w*|Pipe|SVMAllocation|svm_empty\w*|image_from_array))
    | (?P<view>cl\.enqueue_map_(?:buffer|image)))\b
    """,
    re.VERBOSE,
)
"""calls that give memory, in C++ by their first argument, in Python as their result"""
STREAM = late_pattern(
    r"\b(?:cudaStreamCreate\w*|cuStreamCreate\w*|(?P<result>clCreateCommandQueue\w*)|(?P<made>cl(?:::|\.)CommandQueue))\b"
)
"""the same of streams and queues"""

_NAME = r"[A-Za-z_]\w*(?:(?:\.|->)[A-Za-z_]\w*|\[[\w ]{1,20}\])*"
_CAST = r"(?:\(\s*[\w:]+(?:\s*<[^<>]*>)?[\s*]*\)\s*|(?:reinterpret|static)_cast\s*<[^<>]*(?:<[^<>]*>)?[^<>]*>\s*\(\s*)?"
_OUT = late_pattern(rf"\s*(?:<[^<>()]*>)?\s*\(\s*{_CAST}&\s*(?P<name>{_NAME})\s*[,)]")
_REGISTERED = late_pattern(rf"\s*\(\s*{_CAST}(?P<name>{_NAME})\s*[,)]")
_RESULT = late_pattern(rf"(?P<star>(?:^|[;({{,])\s*\*+\s*)?(?P<name>{_NAME})\s*=\s*{_CAST}$")
_DECLARED = late_pattern(rf"\s+(?P<name>{_NAME})\s*[({{]")
_FIRST_TARGET = late_pattern(rf"\s*(?P<name>{_NAME})\s*(?:,\s*\w+\s*)?=(?!=)")
_TARGET = late_pattern(rf"\s*(?:\w+\s*,\s*)?(?P<name>{_NAME})\s*,?\s*(?::[^=()]*)?=(?!=)")
_EVENT = late_pattern(rf"\b(?:clEnqueue|enqueue)(?!Map)\w+\s*\(.*,\s*&\s*(?P<name>{_NAME})\s*\)+[^,)]*$")
"""the last argument of a command is where its event goes; of a map it is not"""
_EVENT_IN_PYTHON = late_pattern(
    rf"^\s*(?:\w+\s*,\s*)?(?P<name>{_NAME})\s*=\s*(?:[\w.]*\.enqueue_\w+\(|[\w.\[\]]+\(\s*[\w.\[\]]+,\s*(?:\(|\w+\.shape\b))"
)
"""a command, or a kernel that is called with a queue and its global size"""
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


def event_in_line(file: str, text: str) -> str:
    """Return the variable that gets the event of a command of OpenCL, "" where the line does not show it."""
    match = (_EVENT_IN_PYTHON if file.endswith(PYTHON_SUFFIXES) else _EVENT).search(text)
    return match["name"] if match is not None and len(match["name"]) <= LONGEST_NAME else ""


def name_in_line(file: str, text: str, makes: re.Pattern[str], *, inner: bool) -> str:
    """Return the variable that gets what a line of source makes, "" where that is not clear.

    `makes`: MEMORY or STREAM. `inner`: a function that is called from elsewhere in the program makes it: there a local
    variable's name says little.
    """
    found = list(makes.finditer(text))
    if len(found) != 1:
        return ""
    (call,) = found
    kinds = call.groupdict()
    if file.endswith(PYTHON_SUFFIXES):
        target = _FIRST_TARGET if kinds.get("view") else _TARGET
        match = target.match(text) if text.find("=") < call.start() else None
    elif kinds["result"]:
        match = _RESULT.search(text, 0, call.start())
        match = None if match is not None and match["star"] else match
    elif kinds["made"]:
        match = _DECLARED.match(text, call.end())
    else:
        match = (_REGISTERED if "Register" in call[0] else _OUT).match(text, call.end())
    name = match["name"] if match is not None else ""
    if len(name) > LONGEST_NAME or (inner and (len(name) < 2 or name in _COMMON)):
        return ""
    return name

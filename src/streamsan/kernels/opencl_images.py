"""Images in OpenCL C, written as memory: what reads kernels knows pointers, and knows nothing of images.

An access of a pixel becomes one of an element, whose index is 0 where all coordinates are; a vector of numbers becomes
a number, which is 0 where all its elements are. Nothing is kept of values.
"""

from __future__ import annotations

import re

IMAGE = re.compile(r"\b(?:(?:__)?(read_only|write_only|read_write)\s+)?(image\w*_t|pipe\s+\w+)\b")
_CALL = re.compile(
    r"\b(?:(?P<access>read|write)_image(?:f|i|ui|h)|(?P<size>get_image_\w+))\s*\(|"
    r"\(\s*(?:(?P<numbers>u?(?:char|short|int|long))|(?P<others>float|double|half))(?:2|3|4|8|16)\s*\)\s*\("
)
_UNKNOWN = "gridDim.x"
"""a number above 0 of which nothing else is known"""
_STEP = 1_000_003
"""How far apart the coordinates are kept: sums of vectors stay what they are, and (1, -1) is not the first pixel."""
LONGEST_CALL = 4096
"""characters"""
DEEPEST_CALL = 8


def images_as_memory(text: str) -> str:
    """Return a text in which images are pointers, and accesses of them those of elements."""
    if not IMAGE.search(text) or "msaa" in text:
        return IMAGE.sub("int", text)
    return IMAGE.sub(lambda found: "int" if found[2].startswith("pipe") else "int *", _rewritten(text, 0))


def _rewritten(text: str, depth: int) -> str:
    out: list[str] = []
    done = 0
    while found := _CALL.search(text, done):
        arguments = _arguments(text, found.end()) if depth < DEEPEST_CALL else None
        if arguments is None:
            out.append(text[done : found.end()])
            done = found.end()
            continue
        parts, end = arguments
        out += [text[done : found.start()], _written(found, [_rewritten(part, depth + 1) for part in parts])]
        done = end
    return "".join(out) + text[done:]


def _written(found: re.Match[str], parts: list[str]) -> str:
    if found["size"]:
        return f"({_UNKNOWN})"
    if found["numbers"]:
        return "(" + " + ".join(f"({part}) * {_STEP**at}" for at, part in enumerate(parts[:4])) + ")"
    if found["others"]:
        # The elements may touch memory; the coordinate that they make is not followed.
        return "(" + ", ".join((*(f"({part})" for part in parts), _UNKNOWN)) + ")"
    if found["access"] == "write":
        where, value = (parts[1], parts[-1]) if len(parts) >= 3 else (_UNKNOWN, "0")
        return f"(({parts[0]})[{where}] = ({value}))"
    where = parts[2] if len(parts) >= 3 else parts[-1] if len(parts) == 2 else _UNKNOWN
    return f"(({parts[0]})[{where}])"


def _arguments(text: str, begin: int) -> tuple[list[str], int] | None:
    """Return the arguments of a call whose list begins there, and where it ends; None where it does not."""
    depth, start, parts = 1, begin, []
    for place in range(begin, min(len(text), begin + LONGEST_CALL)):
        letter = text[place]
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0 or (depth == 1 and letter == ","):
            parts.append(text[start:place].strip())
            start = place + 1
        if depth == 0:
            return parts, place + 1
    return None

"""Extract every function's prototype, and the numbers of flags and statuses, from the OpenCL headers.

A development tool: it writes `functions.json` and `constants.json` of `platforms/opencl`, which are committed, so that
nothing else needs the headers. Give it the folder that has `cl.h`:

    python -m streamsan.generate.extract_opencl /usr/include/CL

A row of functions.json: the version or the extension that brought the function, its place in the loader's dispatch
table (null: none, it is found by clGetExtensionFunctionAddressForPlatform), its result, its parameters. All of them are
facts about the interface.
"""

from __future__ import annotations

import argparse
import ast
import json
import operator
import re
from collections.abc import Iterator
from pathlib import Path

from streamsan.platforms import CUDA

HEADERS = ("cl.h", "cl_ext.h", "cl_gl.h", "cl_egl.h", "cl_d3d10.h", "cl_d3d11.h", "cl_dx9_media_sharing.h",
           "cl_va_api_media_sharing_intel.h")  # fmt: skip
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
_UNNAMED_SECTION = {"cl_gl.h": "cl_khr_gl_sharing"}
"""The extension of functions that stand before any section of a header."""
_PROTOTYPE = re.compile(r"CL_API_ENTRY\s+(?P<result>[^;(]*?)\s*CL_API_CALL\s+(?P<name>cl\w+)\s*\((?P<rest>[^;]*);")
_POINTER = re.compile(
    r"typedef\s+(?:CL_API_ENTRY\s+)?(?P<result>[^;()]*?)\s*\(\s*CL_API_CALL\s*\*\s*(?P<name>cl\w+)_fn\s*\)\s*\((?P<rest>[^;]*);"
)
_VERSION = re.compile(r"CL_API_SUFFIX__VERSION_(\d)_(\d)(_DEPRECATED)?")
_DEFINE = re.compile(r"^#define[ \t]+(CL_[A-Z]\w*)[ \t]+(\S[^\n]*)$", re.M)
_CAST = re.compile(r"\(\s*(?:cl_\w+|size_t|unsigned|int)\s*\)")
_SUFFIX = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b")
_OPERATIONS = {ast.LShift: operator.lshift, ast.BitOr: operator.or_, ast.Sub: operator.sub, ast.Add: operator.add}

Row = tuple[str, int | None, str, list[list[str]]]


def functions_of(folder: Path) -> dict[str, Row]:
    """Return every function of the headers."""
    places = {name: number for number, name in enumerate(_dispatched(folder))}
    found: dict[str, Row] = {}
    for header in HEADERS:
        path = folder / header
        if not path.is_file():
            continue
        text = _COMMENT.sub("", path.read_text(encoding="utf-8"))
        for pattern in (_PROTOTYPE, _POINTER):
            for match in pattern.finditer(text):
                name = match["name"]
                if name in found:
                    continue
                parameters, behind = _parameters(match["rest"])
                result = re.sub(r"\bCL_API_PREFIX__\w+|\bextern\b", "", match["result"])
                since = _version(behind) if header == "cl.h" else _extension(text, match.start(), name, header)
                found[name] = (since, places.get(name), " ".join(result.split()), parameters)
    return found


def _version(suffix: str) -> str:
    """Return the version that a function came with; `-1.1` where that version was the last before it was deprecated."""
    match = _VERSION.search(suffix)
    if match is None:
        return ""
    return f"{'-' if match[3] else ''}{match[1]}.{match[2]}"


def _extension(text: str, place: int, name: str, header: str) -> str:
    """Return the extension in whose section a prototype stands."""
    if "Accelerator" in name:
        return "cl_intel_accelerator"  # several extensions share this section
    names = re.findall(r"^#define\s+(cl_[a-zA-Z0-9]+_\w+)\s+1\b", text[:place], re.M)
    return names[-1] if names else _UNNAMED_SECTION.get(header, "")


def _dispatched(folder: Path) -> Iterator[str]:
    """Yield the functions of the loader's dispatch table, in its order."""
    text = _COMMENT.sub("", (folder / "cl_icd.h").read_text(encoding="utf-8"))
    body = re.search(r"typedef struct _cl_icd_dispatch \{(.*?)\} cl_icd_dispatch", text, re.S)
    if body is None:
        raise SystemExit("cl_icd.h has no dispatch table")
    # On Windows and elsewhere the table has the same entries; what is not there is a void*.
    seen: set[str] = set()
    for name in re.findall(r"\b(cl[A-Z]\w*)\s*;", body[1]):
        if name not in seen:
            seen.add(name)
            yield name


def _parameters(text: str) -> tuple[list[list[str]], str]:
    """Return the parameters, each as its type and name, and what follows the list."""
    depth, start, parts = 0, 0, []
    end = len(text)
    for place, letter in enumerate(text):
        if letter == "(":
            depth += 1
        elif letter == ")":
            if depth == 0:
                end = place
                break
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    parts.append(text[start:end])
    parameters = []
    for part in parts:
        words = " ".join(part.split())
        function = re.search(r"\(\s*(?:CL_CALLBACK)?\s*\*\s*(\w+)\)", words)
        if function is not None:
            parameters.append([words, function[1]])
        elif words not in ("", "void"):
            match = re.search(r"(\w+)\s*(\[\d*\])?$", words)
            assert match is not None, words
            parameters.append([words[: match.start()].strip() + (match[2] or ""), match[1]])
    return parameters, text[end:]


def constants_of(folder: Path) -> dict[str, int]:
    """Return the numbers of flags, statuses and other enumerators."""
    texts: dict[str, str] = {}
    for path in sorted(folder.glob("cl*.h")):
        texts |= dict(_DEFINE.findall(_COMMENT.sub("", path.read_text(encoding="utf-8"))))
    found: dict[str, int] = {}
    for name, text in texts.items():
        number = _number(text.strip(), found)
        if number is not None and not name.startswith(("CL_VERSION_", "CL_API_", "CL_EXT_", "CL_TARGET", "CL_HPP_")):
            found[name] = number
    return found


def _number(text: str, known: dict[str, int]) -> int | None:
    try:
        return _evaluate(ast.parse(_SUFFIX.sub(r"\1", _CAST.sub("", text)), mode="eval").body, known)
    except (SyntaxError, ValueError):
        return None


def _evaluate(node: ast.expr, known: dict[str, int]) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluate(node.operand, known)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return int(_OPERATIONS[type(node.op)](_evaluate(node.left, known), _evaluate(node.right, known)))
    if isinstance(node, ast.Name) and node.id in known:
        return known[node.id]
    raise ValueError("no number")


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder of cl.h, cl_ext.h, cl_icd.h, ...")
    folder = parser.parse_args().folder
    target = CUDA.folder.parent / "opencl"
    for name, rows in (("functions", functions_of(folder)), ("constants", constants_of(folder))):
        lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())
        (target / f"{name}.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Writes `platforms/cuda/python_bindings.json`: names, types and numbers that an installed cuda.bindings shows.

    python -m streamsan.generate.extract_bindings dump FILE            what the importable cuda-bindings offers
    python -m streamsan.generate.extract_bindings merge NEW OLD        one data file of the dumps of two major versions

A dump has, for each of the two modules: functions (parameters and returned values by name and type, parameters of the
C function), enumerations, constants, handle classes and structure classes. `merge` keeps the dump of the newer major
version and, of the older one, what differs.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from streamsan.platforms import CUDA

MODULES = ("runtime", "driver")
SECTIONS = ("functions", "enums", "constants", "handles", "structures", "sizes")
_REFERENCE = re.compile(r":py:obj:`~?\.?([\w.]+)`")
_ENTRY = re.compile(r"^ {0,4}(\w+) ?: (.+)$")
_C_FUNCTION = re.compile(
    r"^(?:cdef )?(?:CUresult|cudaError_t|cudaChannelFormatDesc) (\w+)\((.*)\)(?: except.*| nogil)*$"
)
_OF_OPTIONAL = re.compile(r"Optional\[(.*)\]$")
_OF_LIST = re.compile(r"tuple\[(\w+)\] \| list\[\w+\]$")


def dump() -> dict[str, Any]:
    """Return what the importable cuda-bindings offers."""
    package = importlib.import_module("cuda.bindings")
    modules = {name: importlib.import_module(f"cuda.bindings.{name}") for name in MODULES}
    folder = Path(str(modules["driver"].__file__)).parent
    result: dict[str, Any] = {"version": package.__version__}
    for name, module in modules.items():
        result[name] = _module(module, _c_functions(folder, name))
    return result


def _module(module: ModuleType, c_functions: Mapping[str, list[str]]) -> dict[str, Any]:
    sections: dict[str, Any] = {section: {} for section in SECTIONS}
    for name in sorted(vars(module)):
        value = getattr(module, name)
        if type(value).__name__ == "cython_function_or_method" and name.startswith(("cu", "make_")):
            sections["functions"][name] = _function(value, c_functions)
        elif isinstance(value, type) and _is_enumeration(value):
            members: Mapping[str, int] = getattr(value, "__members__", {})
            if members:
                sections["enums"][name] = {key: int(member) for key, member in members.items()}
        elif isinstance(value, type) and value.__module__.startswith("cuda.bindings") and not name.startswith("_"):
            _class(sections, module, name, value)
        elif isinstance(value, int) and not name.startswith("__"):
            sections["constants"][name] = int(value)
    for name in (*sections["handles"], *sections["structures"]):
        if hasattr(module, name) and (size := _size(module, getattr(module, name))):
            sections["sizes"][name] = size
    return sections


def _size(module: ModuleType, kind: type) -> int:
    """Return the bytes of a C type; 0 where the module does not say."""
    try:
        return int(module.sizeof(kind))
    except TypeError:
        return 0


def _is_enumeration(value: type) -> bool:
    return issubclass(value, int) and (issubclass(value, enum.Enum) or hasattr(value, "__members__"))


# -- functions --------------------------------------------------------------------------------------
def _function(function: Any, c_functions: Mapping[str, list[str]]) -> list[Any]:
    text = function.__doc__ or ""
    documented = dict(_entries(text, "Parameters"))
    spelled = _spelled(text.split("\n", 1)[0])
    parameters = []
    for name, parameter in inspect.signature(function).parameters.items():
        word = "" if parameter.annotation is inspect.Parameter.empty else str(parameter.annotation)
        word = _short(word) or spelled.get(name, ("", ""))[0] or documented.get(name, "Any")
        default = spelled.get(name, ("", ""))[1]
        parameters.append([name, word, default] if default else [name, word])
    returned = [[name, word] for name, word in _entries(text, "Returns") if not word.startswith("cudaError")]
    return [parameters, returned, c_functions.get(function.__name__, [])]


def _short(annotation: str) -> str:
    """`Optional[tuple[X] | list[X]]` -> `list[X]?`, `Optional[X]` -> `X?`."""
    optional = _OF_OPTIONAL.match(annotation)
    inner = optional[1] if optional else annotation
    many = _OF_LIST.match(inner)
    return (f"list[{many[1]}]" if many else inner) + ("?" if optional else "")


def _spelled(line: str) -> dict[str, tuple[str, str]]:
    """Return C type and default of each parameter that the first line of a docstring gives."""
    result = {}
    for part in _split(line[line.find("(") + 1 : line.rfind(")")]):
        match = re.match(r"^(?:(?P<type>[\w ]+?\*?) ?\b)?(?P<name>\w+)(?::.*?)?(?: ?= ?(?P<default>\w+))?$", part)
        if match:
            result[match["name"]] = ((match["type"] or "").strip(), match["default"] or "")
    return result


def _split(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for position, letter in enumerate(text):
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            yield text[start:position].strip()
            start = position + 1
    if text[start:].strip():
        yield text[start:].strip()


def _entries(text: str, section: str) -> Iterator[tuple[str, str]]:
    lines = iter(text.split("\n"))
    for line in lines:
        if line.strip() == section and next(lines, "").strip().startswith("---"):
            break
    for line in lines:
        if line.strip().startswith("---"):
            return
        match = _ENTRY.match(line)
        if match:
            word = _REFERENCE.sub(r"\1", match[2]).strip()
            yield match[1], word.split(" or ")[-1] if " or " in word else word


def _c_functions(folder: Path, module: str) -> dict[str, list[str]]:
    """Return the parameters of each C function, as `type name`."""
    found = {}
    for path in sorted(folder.glob(f"cy{module}*.px[di]")):
        for line in path.read_text(encoding="utf-8").splitlines():
            match = _C_FUNCTION.match(line.strip())
            if match:
                found[match[1]] = [" ".join(part.split()) for part in _split(match[2])]
    return found


# -- classes ----------------------------------------------------------------------------------------
def _class(sections: dict[str, Any], module: ModuleType, name: str, value: type) -> None:
    try:
        instance = value()
    except TypeError:
        return
    base = value.__mro__[1].__name__
    base = "" if base == "object" else base
    if hasattr(value, "__int__"):
        sections["handles"][name] = [base, "x" if "0x" in repr(instance) else "d"]
    else:
        _structure(sections["structures"], name, instance, base)


def _structure(structures: dict[str, Any], name: str, instance: Any, base: str) -> None:
    documented = list(_entries(type(instance).__doc__ or "", "Attributes"))
    known = [attribute for attribute, _ in documented]
    words = dict(documented)
    attributes = [key for key in dir(instance) if not key.startswith("_") and not callable_of(instance, key)]
    fields = []
    for key in sorted(attributes, key=lambda key: (known.index(key) if key in known else len(known), key)):
        try:
            value = getattr(instance, key)
        except ValueError:  # an enumeration that has no member for 0
            value = None
        word = words.get(key, type(value).__name__)
        shape = "@" if type(value) is int and word.startswith(("CU", "cuda")) else _shape(value)
        fields.append([key, word, shape] if shape else [key, word])
        if type(value).__name__.startswith(("anon_", "CUstreamMemOp")):
            _structure(structures, type(value).__name__, value, "")
    structures[name] = [base, fields]


def callable_of(instance: Any, key: str) -> bool:
    """Return whether an attribute is a method; one that cannot be read is none."""
    try:
        return callable(getattr(instance, key))
    except ValueError:
        return False


def _shape(value: Any) -> str:
    """`*`: a list of any length; `[3]`: of three; `b[16]`: bytes; `=1`: a number that begins as 1."""
    if isinstance(value, list | tuple):
        return f"[{len(value)}]" if value else "*"
    if type(value) is int and value:
        return f"={value}"
    return f"b[{len(value)}]" if isinstance(value, bytes) else ""


# -- two versions -----------------------------------------------------------------------------------
def merge(new: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    """Return the newer dump, and what of the older one differs (null: the older one does not have it)."""
    older: dict[str, Any] = {"version": old["version"]}
    for module in MODULES:
        older[module] = {}
        for section in SECTIONS:
            now, before = new[module][section], old[module][section]
            differing = {name: entry for name, entry in before.items() if now.get(name) != entry}
            older[module][section] = differing | {name: None for name in now if name not in before}
    return {"new": dict(new), "old": older}


def write(data: Mapping[str, Any], path: Path) -> None:
    """Write a data file with one line for each name, so that differences can be read."""
    lines = json.dumps(data, separators=(",", ":"), sort_keys=False)
    text = re.sub(r'(?<=[\]}l]),(?="\w+":[\[{n])', ",\n", lines)
    path.write_text(text + "\n", encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Run one of the two commands; return the exit status."""
    if len(arguments) == 2 and arguments[0] == "dump":
        write(dump(), Path(arguments[1]))
        return 0
    if len(arguments) == 3 and arguments[0] == "merge":
        new, old = (json.loads(Path(name).read_text(encoding="utf-8")) for name in arguments[1:])
        write(merge(new, old), CUDA.folder / "python_bindings.json")
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

"""What kernels in OpenCL C do with their arguments, read from the text of their program."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from functools import cached_property

from streamsan.cuda_syntax.compiler_options import CompilerOptions
from streamsan.cuda_syntax.preprocess import PREDEFINED
from streamsan.cuda_syntax.tree import Function, Name, Unit
from streamsan.cuda_syntax.unit import read_text
from streamsan.cuda_syntax.walk import nodes
from streamsan.kernels.behaviour import KernelBehaviours
from streamsan.kernels.opencl_images import IMAGE, images_as_memory
from streamsan.kernels.opencl_ranges import agrees, geometry_of, number_of, ranges_of
from streamsan.kernels.uses import Use
from streamsan.model.opencl.work_items import ByteRange, WorkItems
from streamsan.vocabulary import AccessMode, SlotFlag

Mode = tuple[AccessMode, int]
"""how memory is used, with flags of the reference"""

_WORDS = (
    (re.compile(r"__attribute__\s*\(\([^\n]{0,200}?\)\)(?!\))"), " "),
    (re.compile(r"\b(?:__)?kernel\b"), "__global__"),
    (re.compile(r"\b(?:__)?constant\b"), "const"),
    (re.compile(r"\b(?:__)?global\b"), " "),
    (re.compile(r"\b(?:__)?(?:local|private|generic)\b"), " "),
)
_AXES = "xyz"
_NUMBERS = {
    "get_global_id": "(blockIdx.{0} * blockDim.{0} + threadIdx.{0})",
    "get_local_id": "threadIdx.{0}",
    "get_group_id": "blockIdx.{0}",
    "get_local_size": "blockDim.{0}",
    "get_num_groups": "gridDim.{0}",
    "get_global_size": "(gridDim.{0} * blockDim.{0})",
    "get_global_offset": "0",
}
"""What OpenCL C calls the numbers of work-items, as CUDA writes them: what reads kernels knows these."""
_NUMBER = re.compile(rf"\b({'|'.join(_NUMBERS)})\s*\(\s*([012])\s*\)")
_ATOMIC = re.compile(r"\b(?:atomic|atom)_(add|sub|min|max|and|or|xor|xchg|cmpxchg|inc|dec)\s*\(")
_ATOMICS = {"xchg": "Exch", "cmpxchg": "CAS", "inc": "Inc", "dec": "Dec"}
_LOAD = re.compile(r"\bvload(2|3|4|8|16)\s*\(")
_STORE = re.compile(r"\bvstore(2|3|4|8|16)\s*\(")
_PRELUDE = """\
#define barrier(flags) __syncthreads()
#define work_group_barrier(flags) __syncthreads()
#define VLOAD(i, p) ((p)[i])
#define VSTORE(v, i, p) ((p)[i] = (v))
"""
_MEMORY = re.compile(r"\b(?:__)?(?:global|constant)\b")
_IMAGE_MODES = {"read_only": AccessMode.READ, "write_only": AccessMode.WRITE, "read_write": AccessMode.READ_WRITE}
LONGEST_LIST = 1 << 16
"""characters of a list of parameters"""
LONGEST_HEAD = 300
"""characters between the word `kernel` and the name"""
_KERNEL = re.compile(r"\b(?:__)?kernel\b")
_MACRO = re.compile(r"([A-Za-z_]\w*(?:\([^)]*\))?)(?:=(.*))?", re.S)
_BRACE = re.compile(r"[{}]")
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*", re.S)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+(?:\([^)\n]*\))?)((?:[^\\\n]|\\[\s\S])*)", re.M)
_WORD = re.compile(r"[A-Za-z_]\w*")


class OpenclText:
    """The text of a program, and what is known of its kernels."""

    def __init__(self, text: str, macros: Sequence[tuple[str, str | None]] = ()) -> None:
        """`macros`: what the options of its build define (`-D`)."""
        self._plain = without_comments(text)
        # Nothing of CUDA's compiler is defined here.
        self._options = CompilerOptions((*((name, None) for name in PREDEFINED), *macros))
        self._reached: dict[object, dict[int, tuple[ByteRange, ...]]] = {}
        bodies = [(name, text or "") for name, text in macros]
        bodies += [(found[1], found[2]) for found in _DEFINE.finditer(self._plain)]
        self._words_of_macros = frozenset(
            word for head, body in bodies for word in set(_WORD.findall(body)) - set(_WORD.findall(head)[1:])
        )

    def modes(self, name: str) -> tuple[Mode | None, ...] | None:
        """Return how a kernel uses its arguments; None of one that is no memory. As a whole None: not known."""
        written = _parameters(name, self._plain)
        if written is None:
            return None
        function = self._function(name)
        uses = {} if function is None else self._behaviours.of(function).uses
        modes: list[Mode | None] = []
        for position, parameter in enumerate(written):
            image = IMAGE.search(parameter)
            if image is not None:
                mode = _IMAGE_MODES[image[1] or "read_only"]
                found = None
                if function is not None and position < len(function.parameters):
                    found = self._use(function, function.parameters[position].name, uses)
                modes.append((mode, found[1] & SlotFlag.TOUCHES if found is not None and found[0] == mode else 0))
            elif not _MEMORY.search(parameter):
                # A pointer without an address space may be one by a typedef or macro of the program's.
                plain_value = "*" not in parameter and re.fullmatch(r"\s*(?:const\s+)?\w+(?:\s+\w+){1,2}\s*", parameter)
                modes.append(None if plain_value or _is_local(parameter) else (AccessMode.OPAQUE, 0))
            else:
                found = None
                if function is not None and position < len(function.parameters):
                    found = self._use(function, function.parameters[position].name, uses)
                modes.append(_by_type(parameter) if found is None else found)
        return tuple(modes)

    def reach(self, name: str, items: WorkItems, numbers: Mapping[int, int]) -> dict[int, tuple[ByteRange, ...]]:
        """Return which bytes a launch touches, by argument, where that is known; `numbers` are arguments that are."""
        key = (name, items, tuple(sorted(numbers.items())))
        if key not in self._reached:
            self._reached[key] = self._reach(name, items, numbers)
        return self._reached[key]

    def numbers(self, name: str, given: Mapping[int, tuple[int, int]]) -> dict[int, int]:
        """Return the values of a kernel's parameters that are whole numbers, by their sizes and their bytes."""
        written = _parameters(name, self._plain) or []
        found = {
            at: number_of(written[at], size, word)
            for at, (size, word) in given.items()
            if size > 0 and at < len(written)
        }
        return {at: number for at, number in found.items() if number is not None}

    def _reach(self, name: str, items: WorkItems, numbers: Mapping[int, int]) -> dict[int, tuple[ByteRange, ...]]:
        written, function = _parameters(name, self._plain), self._function(name)
        geometry = geometry_of(_without_other_kernels(name, self._plain), items)
        if written is None or function is None or geometry is None:
            return {}
        functions: dict[str, list[Function]] = {}
        for each in self._unit.declarations:
            if isinstance(each, Function):
                functions.setdefault(each.name, []).append(each)
        found = ranges_of(function, functions, self._unit.macros, written, geometry, numbers)
        modes = self.modes(name) or ()
        return {at: pieces for at, pieces in found.items() if (mode := modes[at]) and agrees(*mode, pieces)}

    def talks(self, name: str) -> bool:
        """Tell whether a kernel may tell other threads something while it runs; so may one that is not understood."""
        function = self._function(name)
        return function is None or self._behaviours.of(function).talks

    def _use(self, function: Function, parameter: str, uses: Mapping[str, Use | None]) -> Mode | None:
        """Return how the body uses a pointer; None where it does not say."""
        if parameter in self._words_of_macros:
            return AccessMode.OPAQUE, 0  # a macro may use it without being given it
        named = any(isinstance(node, Name) and node.name == parameter for node in nodes(function.body))
        found = uses.get(parameter)
        return (found.mode, found.flags) if found is not None and named else None

    def _function(self, name: str) -> Function | None:
        declared = self._unit.declarations
        return next((each for each in declared if isinstance(each, Function) and each.name == name and each.body), None)

    @cached_property
    def _behaviours(self) -> KernelBehaviours:
        return KernelBehaviours(self._unit)

    @cached_property
    def _unit(self) -> Unit:
        changed = self._plain
        for pattern, word in _WORDS:
            changed = pattern.sub(word, changed)
        changed = images_as_memory(changed)
        changed = _NUMBER.sub(lambda found: _NUMBERS[found[1]].format(_AXES[int(found[2])]), changed)
        changed = _ATOMIC.sub(lambda found: f"atomic{_ATOMICS.get(found[1], found[1].capitalize())}(", changed)
        return read_text(_PRELUDE + _STORE.sub("VSTORE(", _LOAD.sub("VLOAD(", changed)), "program.cl.cu", self._options)


def _without_other_kernels(name: str, text: str) -> str:
    """Return a text without the bodies of other kernels."""
    parts: list[str] = []
    at = 0
    for match in _KERNEL.finditer(text):
        begin = text.find("{", match.end())
        if match.start() < at or begin < 0 or re.search(rf"\b{re.escape(name)}\s*\(", text[match.end() : begin]):
            continue
        depth, end = 0, len(text)
        for brace in _BRACE.finditer(text, begin):
            depth += 1 if brace[0] == "{" else -1
            if depth == 0:
                end = brace.end()
                break
        parts.append(text[at:begin])
        at = end
    return "".join([*parts, text[at:]])


def _is_local(parameter: str) -> bool:
    return re.search(r"\b(?:__)?local\b", parameter) is not None


def _by_type(parameter: str) -> Mode:
    """Return how a pointer is used as far as its type says."""
    constant = re.search(r"\b(?:const|(?:__)?constant)\b[^*]*\*", parameter) is not None
    return (AccessMode.READ if constant else AccessMode.OPAQUE), 0


def _parameters(name: str, text: str) -> list[str] | None:
    """Return a kernel's parameters as they are written."""
    for match in re.finditer(rf"\b{re.escape(name)}\s*\(", text):
        head = re.split("[;{}]", text[max(0, match.start() - LONGEST_HEAD) : match.start()])[-1]
        if not _KERNEL.search(head):
            continue
        depth, start, parts = 1, match.end(), []
        for place in range(match.end(), min(len(text), match.end() + LONGEST_LIST)):
            letter = text[place]
            depth += (letter == "(") - (letter == ")")
            if depth == 0 or (depth == 1 and letter == ","):
                parts.append(text[start:place])
                start = place + 1
            if depth == 0:
                return [part for part in parts if part.strip() and part.strip() != "void"]
        return None
    return None


def without_comments(text: str) -> str:
    """Return a text with a blank for each comment; one that does not end goes to the end."""
    return _COMMENT.sub(" ", text)


def macros_of(options: str) -> list[tuple[str, str | None]]:
    """Return what options of a build define, and take away. Raises ValueError."""
    found: list[tuple[str, str | None]] = []
    words = iter(shlex.split(options))
    for word in words:
        if not word.startswith(("-D", "-U")):
            continue
        macro = _MACRO.fullmatch(word[2:] or next(words, ""))
        if macro is None:
            raise ValueError("not a macro")
        text = "1" if macro[2] is None else macro[2]
        found.append((macro[1], text if word.startswith("-D") else None))
    return found

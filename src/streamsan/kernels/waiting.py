"""Where a kernel may first wait for the kernel before it (programmatic dependent launch), read off its body's text.

The text, not the tree: the wait often stands in code for one architecture (`#if __CUDA_ARCH__ >= 900`) that a host
compiler never sees, in `asm`, or behind a macro that is empty elsewhere. So all branches of the preprocessor count, all
definitions of a macro, and all bodies of a function. What is not known (a function without a body here, a member
function, a functor) may wait, unless no file at all says a word of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

from msgspec import Struct

from streamsan.cuda_syntax.tree import Function, Span, Unit
from streamsan.patterns.late_pattern import late_pattern

TRIGGERS: Final = frozenset(
    {"cudaTriggerProgrammaticLaunchCompletion", "griddepcontrol_launch_dependents", "launch_dependent_grids"}
)
"""What lets the next kernel begin, and waits for nothing."""
_TOKEN = late_pattern(
    r"""//[^\n]*|/\*.*?\*/                                  # comments
    |R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)"                # raw strings
    |"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'                # strings, characters
    |(?P<directive>^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)          # directives of the preprocessor
    |(?P<word>[^\W\d]\w*)
    |(?P<brace>[{}])""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_DEFINE = late_pattern(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n\\]|\\.|\\\n)*)", re.MULTILINE | re.DOTALL)
_MENTION = late_pattern(r"griddep|grid_?depend|dependent_?grid|programmatic_?depend|gdc_|pdl", re.IGNORECASE)
_PLAIN_HEADER = late_pattern(r"[\w.]+|(?:cub|thrust|cuda|nv|cooperative_groups|sys|bits)/[\w./]+")
"""CUDA's, C++'s and the system's own headers: of their device functions only those wait whose name says so"""
_NAMED_CALL = late_pattern(r"([^\W\d]\w*)\s*\(\s*\)")
_TALKS = late_pattern(
    r"\bvolatile\b|_system\b|\batomic_ref\b|\b(?:cuda|cuda::std|std)::(?:atomic|barrier|latch|semaphore)|\b(?:__)?asm\b"
    r"|\b(?:load|store)_(?:acquire|release)|\b__nanosleep\b|\bmemory_order|\bld_|\bst_"
)
_CLOCK = late_pattern(r"%(?:global)?(?:timer|clock)|\bclock(?:64)?\s*\(")
_TRIGGER = late_pattern("|".join((*sorted(TRIGGERS), r"griddepcontrol\.launch_dependents")))
_TYPE = late_pattern(r"\b(?:typename|class|struct|enum|using)\s+(?:\.\.\.\s*)?(\w+)|\btypedef\s[^;{}]*?(\w+)\s*;")
_CALL = late_pattern(r"\s*(?:<[^;(){}]*>\s*)?\(")
_STRING = late_pattern(r'"((?:[^"\\]|\\.)*)"')
_SUSPECT = late_pattern(r"wait|griddep|dependen|acquire", re.IGNORECASE)
_READS_MEMORY = late_pattern(r"\[|->|(?:^|[(!=<>&|])\s*\*|[^\W\d]\w*\s*(?:<[^;(){}]*>\s*)?\(")
# Keywords, types, and functions of CUDA and its headers that wait for no kernel.
# fmt: off
_WORDS: Final = frozenset({
    "if", "for", "while", "do", "switch", "return", "sizeof", "alignof", "decltype", "typeid", "noexcept",
    "static_assert", "else", "case", "throw", "new", "delete", "static_cast", "reinterpret_cast", "const_cast",
    "dynamic_cast", "bit_cast", "void", "bool", "char", "short", "int", "long", "unsigned", "signed", "float",
    "double", "half", "size_t", "ptrdiff_t", "uint", "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t",
    "uint32_t", "int64_t", "uint64_t", "uintptr_t", "intptr_t", "dim3", "half2", "nv_bfloat16", "nv_bfloat162",
    "float2", "float3", "float4", "int2", "int4", "printf", "assert", "memset", "memcpy", "clock", "clock64", "min",
    "max", "abs", "labs", "llabs", "swap", "clamp", "isnan", "isinf", "isfinite", "signbit", "this_thread_block",
    "this_grid", "this_cluster", "tiled_partition", "coalesced_threads", "sync", "thread_rank", "num_threads", "size",
    "group_index", "thread_index", "dim_threads", "block_rank", "num_blocks", "block_index", "meta_group_rank",
    "meta_group_size", "is_valid", "shfl", "shfl_up", "shfl_down", "shfl_xor", "any", "all", "ballot", "match_any",
    "match_all", "atomic_ref", "load", "store", "fetch_add", "fetch_sub", "fetch_min", "fetch_max", "fetch_and",
    "fetch_or", "fetch_xor", "exchange", "x", "y", "z", "w", "data", "begin", "end", "operator", "alignas", "extern",
})
# fmt: on
_MATHEMATICS: Final = (
    r"(?:a?(?:sin|cos|tan)(?:h|pi)?|atan2|sincos(?:pi)?|exp(?:2|10|m1)?|log(?:2|10|1p|b)?|pow|r?sqrt|r?cbrt|r?hypot|r?norm\w*"
    r"|erfc?x?|erfc?inv|normcdf(?:inv)?|tgamma|lgamma|floor|ceil|l*round|l*rint|nearbyint|trunc|fmod|remainder|remquo|modf"
    r"|f(?:abs|min|max|dim|ma|div(?:ide)?)|ldexp|frexp|scalbl?n|copysign|nextafter|[jy][01n]|cyl_bessel_i[01]"
    r"|[iu]?l?l?(?:min|max)|umul\w*|make_\w+|h2?(?:exp\w*|log\w*|sin|cos|sqrt|rsqrt|rcp|floor|ceil|rint|trunc))[fl]?"
)
"""names of CUDA's mathematical functions"""
_INTRINSICS = late_pattern(r"__\w+|atomic[A-Z]\w*")
_DEEPEST: Final = 6
_LONGEST: Final = 200_000


@cache
def _is_mathematics(name: str) -> bool:
    return re.fullmatch(_MATHEMATICS, name) is not None


class Beginning(Struct, frozen=True):
    """What a text does before it may wait."""

    end: int | None
    """offset of the first thing that may wait; None: nothing does"""
    triggers: bool
    """before that, and under no condition, it lets the next kernel begin"""


class UnitTexts:
    """The texts of a unit's files, for questions about what stands where."""

    def __init__(self, unit: Unit) -> None:
        self.files = unit.files
        self._macros: dict[str, list[str]] = {}
        for text in self.files.values():
            for found in _DEFINE.finditer(text):
                self._macros.setdefault(found[1], []).append(found[2])
        self._types = {found[1] or found[2] for text in self.files.values() for found in _TYPE.finditer(text)}
        self._declared = {
            each.name.rpartition("::")[2]
            for each in unit.declarations
            if isinstance(each, Function) and each.body is None
        }
        # Where no file says a word of it, only code of elsewhere could wait.
        self._silent = (
            not unit.missing_includes
            and all(_PLAIN_HEADER.fullmatch(name) for name in unit.system_includes)
            and not any(_MENTION.search(text) for text in self.files.values())
        )
        self._waits: dict[str, bool] = {}
        self._volatile: dict[str, bool] = {}

    def beginning(self, function: Function) -> Beginning | None:
        """Return what a function's body does before it may wait; None where its text is not at hand."""
        found = self._body_text(function)
        return None if found is None else self._scan(*found, 0)

    def talks(self, function: Function) -> bool:
        """Tell whether a function has a word of volatile memory, atomics or fences of the system, or assembly."""
        return any(_TALKS.search(line) for line in self._lines(function))

    def text_of(self, function: Function) -> str:
        """Return the lines in which a function stands."""
        return "\n".join(self._lines(function))

    def text_at(self, span: Span) -> str:
        """Return the text of a place."""
        if span.file not in self.files:
            return ""
        begin, end = ((span.line, span.column), (span.end_line, span.end_column))
        return self.files[span.file][self.offset(span.file, *begin) : self.offset(span.file, *end)]

    def is_volatile(self, name: str) -> bool:
        """Tell whether some file declares something of this name as volatile."""
        found = self._volatile.get(name)
        if found is None:
            declared = re.compile(rf"\bvolatile\b[^;{{}}()=,]*\b{re.escape(name)}\s*[,;)=\[]")
            found = self._volatile[name] = any(declared.search(text) for text in self.files.values())
        return found

    def _lines(self, function: Function) -> list[str]:
        text = self.files.get(function.span.file, "")
        return text.split("\n")[function.span.line - 1 : function.span.end_line]

    def offset(self, file: str, line: int, column: int) -> int:
        """Return the offset of a place in a file."""
        lines = self.files[file].split("\n")
        return sum(len(each) + 1 for each in lines[: line - 1]) + column - 1

    def _body_text(self, function: Function) -> tuple[str, int, int] | None:
        body = function.body
        text = self.files.get(body.span.file) if body is not None else None
        if body is None or text is None:
            return None
        span = body.span
        begin = self.offset(span.file, span.line, span.column)
        end = self.offset(span.file, span.end_line, span.end_column)
        # A body that a macro wrote is not where its place is.
        if text[begin : begin + 1] != "{" or text[end - 1 : end] != "}" or end - begin > _LONGEST:
            return None
        return text, begin, end

    # -- one text --------------------------------------------------------------------------------------------------

    def _scan(self, text: str, begin: int, end: int, depth: int) -> Beginning:
        triggers, braces, after = False, 0, ""
        position = begin
        while position < end:
            token = _TOKEN.search(text, position, end)
            if token is None:
                break
            after = text[position : token.start()].strip() or after
            position = token.end()
            if token["directive"]:
                if "include" in token["directive"]:
                    return Beginning(token.start(), triggers)
                continue
            if token["brace"]:
                braces += 1 if token["brace"] == "{" else -1
                after = token["brace"]
                continue
            word = token["word"]
            if not word:
                continue
            alone = braces == 1 and (not after or after[-1] in ";{}")
            if word in TRIGGERS and text[position : position + 40].lstrip().startswith("("):
                triggers |= alone
            elif word in ("asm", "__asm__", "__asm"):
                inside, position = _parenthesised(text, position, end)
                code = " ".join(_STRING.findall(inside))
                if not code or _SUSPECT.search(code.replace("griddepcontrol.launch_dependents", "")):
                    return Beginning(token.start(), triggers)
                triggers |= alone and "griddepcontrol.launch_dependents" in code
            elif word == "while" and self._polls(_parenthesised(text, position, end)[0]):
                return Beginning(token.start(), triggers)  # it may wait for what another kernel writes
            elif self._may_wait(word, bool(_CALL.match(text, position, end)), depth):
                return Beginning(token.start(), triggers)
            elif alone and word in self._macros:
                triggers |= any(_TRIGGER.search(each) for each in self._macros[word])
            elif alone and not self._silent and word not in _WORDS and text[position:end].lstrip().startswith(";"):
                return Beginning(token.start(), triggers)  # a macro of a header that is not here
            after = word
        return Beginning(None, triggers)

    def _polls(self, condition: str) -> bool:
        """Tell whether a loop's condition may read memory, and so wait for another kernel's write. A clock is none."""
        for name in set(_NAMED_CALL.findall(condition)):
            bodies = [text[begin:end] for text, begin, end in self._bodies(name)]
            if name in ("clock", "clock64") or (bodies and all(_CLOCK.search(body) for body in bodies)):
                condition = re.sub(rf"\b{re.escape(name)}\s*\(\s*\)", "0", condition)
        return _READS_MEMORY.search(condition) is not None

    def _may_wait(self, name: str, call: bool, depth: int) -> bool:
        if name in self._macros:
            return self._known(name, depth, lambda: self._macro_waits(name, depth))
        if not call:
            return False
        bodies = list(self._bodies(name)) if name not in _WORDS else []
        if bodies:
            return self._known(
                name, depth, lambda: any(self._scan(*body, depth + 1).end is not None for body in bodies)
            )
        return not (
            (self._silent and name not in self._declared)
            or name in _WORDS
            or name in self._types
            or ((_INTRINSICS.fullmatch(name) or _is_mathematics(name)) and not _SUSPECT.search(name))
        )

    def _known(self, name: str, depth: int, find: Callable[[], bool]) -> bool:
        found = self._waits.get(name)
        if found is None:
            if depth >= _DEEPEST:
                return True
            self._waits[name] = False  # a function that calls itself does not wait for that
            found = self._waits[name] = find()
        return found

    def _macro_waits(self, name: str, depth: int) -> bool:
        for text in self._macros[name]:
            if "##" in text or self._scan(text, 0, len(text), depth + 1).end is not None:
                return True
        return False

    def _bodies(self, name: str) -> Iterator[tuple[str, int, int]]:
        """Yield the bodies of functions of a name: a text, and where the body begins and ends in it."""
        pattern = re.compile(rf"\b{re.escape(name)}\s*\(")
        for text in self.files.values():
            for found in pattern.finditer(text):
                _, position = _parenthesised(text, found.end() - 1, len(text))
                heading = re.compile(r"(?:\s|const\b|noexcept\b|->\s*[\w:<>*& ]+?(?=\s*\{))*\{").match(text, position)
                if heading is not None:
                    end = _closing(text, heading.end() - 1)
                    if end is not None:
                        yield text, heading.end() - 1, end


def _parenthesised(text: str, position: int, end: int) -> tuple[str, int]:
    """Return what stands in the next parentheses, and where they end."""
    begin = text.find("(", position, end)
    if begin < 0:
        return "", position
    level = 0
    for token in re.compile(r'"(?:[^"\\]|\\.)*"|[()]').finditer(text, begin, end):
        level += {"(": 1, ")": -1}.get(token[0], 0)
        if not level:
            return text[begin + 1 : token.start()], token.end()
    return text[begin:end], end


def _closing(text: str, begin: int) -> int | None:
    """Return where the block that begins at a brace ends."""
    level = 0
    for token in _TOKEN.finditer(text, begin):
        if token["brace"]:
            level += 1 if token["brace"] == "{" else -1
            if not level:
                return token.end()
        if token.start() - begin > _LONGEST:
            break
    return None

"""Reads kernels from the texts that OpenCL programs were built from. The text is anyone's: it is read, never run."""

from __future__ import annotations

import re
from collections.abc import Collection

from streamsan.kernels.opencl_texts import OpenclText, macros_of, without_comments
from streamsan.kernels.uses import Use
from streamsan.launched_code.remembered_kernels import ReadKernel, ReadKernels
from streamsan.machine_code.kernel_accesses import KernelAccesses
from streamsan.vocabulary import AccessMode

LARGEST_TEXT = 1 << 20
_SPLICE = re.compile(r"\\[ \t]*\n")
_DIRECTIVE = re.compile(r"^[ \t]*(?:#|%:|\?\?=)[ \t]*(\w+)(.*)", re.M)
_OF_THE_COMPILER = re.compile(r"\b(?:__\w+|cl_\w+|CL_\w+)\b")
_CONDITIONS = frozenset(("if", "ifdef", "ifndef"))
_ALTERNATIVES = frozenset(("elif", "elifdef", "elifndef", "else"))
_HARMLESS = frozenset(("define", "undef", "endif", "pragma", "error", "warning", "line", *_CONDITIONS, *_ALTERNATIVES))
_LINE_END = re.compile(r"\r\n?")
_OTHER_BLANK = re.compile(r"[\v\f]")


def read_text_kernels(content: bytes, symbols: Collection[str]) -> ReadKernels:
    """Read these kernels from what the folder has of a text: the options of its build, a zero, and the text.

    Those that the text has not are left out. Raises ValueError where the text alone does not say what was built.
    """
    options, zero, code = content.partition(b"\0")
    if not zero or len(content) > LARGEST_TEXT:
        raise ValueError("not a text that is read")
    macros = macros_of(options.decode("utf-8", "replace"))
    text = _OTHER_BLANK.sub(" ", _LINE_END.sub("\n", code.decode("utf-8", "replace")))
    text = _SPLICE.sub("", text)
    if _rests_on_more(without_comments(text), {name for name, _ in macros}):
        raise ValueError("includes files, or asks which compiler it is")
    read = OpenclText(text, macros)
    found = {}
    for symbol in symbols:
        modes = read.modes(symbol)
        if modes is None:
            continue
        # What is no memory by its text was given some: it is not understood.
        uses = {at: Use(*(mode or (AccessMode.OPAQUE, 0))) for at, mode in enumerate(modes)}
        found[symbol] = ReadKernel(KernelAccesses(uses, {}, talks=read.talks(symbol)), None, read)
    return found


def _rests_on_more(text: str, defined: set[str]) -> bool:
    """Tell whether files, or what the device's compiler defines, decide what the text says."""
    known = {name.partition("(")[0] for name in defined}
    around: list[bool] = []  # of the conditions around: whether they ask what is not known
    unknown = 0
    end = 0
    for directive in _DIRECTIVE.finditer(text):
        if unknown and text[end : directive.start()].strip():
            return True
        end = directive.end()
        word, rest = directive[1], directive[2]
        if word not in _HARMLESS or "__has_" in rest:
            return True
        if word == "define":
            name = re.match(r"\s*(\w+)", rest)
            if unknown:
                return True
            known.update(name.groups() if name else ())
        elif word == "undef" and unknown:
            return True
        elif word in _CONDITIONS:
            asks = any(each not in known for each in _OF_THE_COMPILER.findall(rest))
            around.append(asks)
            unknown += asks
        elif word in _ALTERNATIVES and around:
            asks = any(each not in known for each in _OF_THE_COMPILER.findall(rest))
            unknown += asks and not around[-1]
            around[-1] = around[-1] or asks
        elif word == "endif" and around:
            unknown -= around.pop()
    return bool(unknown)

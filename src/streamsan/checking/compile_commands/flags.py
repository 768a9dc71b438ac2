"""What of a compiler's command line decides which text a source is: gcc's, clang's and nvcc's spellings."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct, field

from streamsan.checking.compile_commands.command_words import in_list, is_nvcc, plain_words
from streamsan.checking.compile_commands.database import shown_path
from streamsan.cuda_syntax.compiler_options import CompilerOptions

_KINDS = {
    "-D": "define",
    "--define-macro": "define",
    "-U": "undefine",
    "--undefine-macro": "undefine",
    "-I": "include",
    "--include-path": "include",
    "--include-directory": "include",
    "-isystem": "system",
    "--system-include": "system",
    "-idirafter": "system",
    "-iquote": "quote",
    "-include": "forced",
    "--include": "forced",
    "--pre-include": "forced",
    "-imacros": "forced",
    "--imacros": "forced",
    "-x": "language",
    "--x": "language",
    "--language": "language",
    "-std": "standard",
    "--std": "standard",
    "-default-stream": "streams",
    "--default-stream": "streams",
}
"""option -> what its value is"""
_NOT_JOINED = {"-include-pch", "-isystem-after"}
_JOINED = ("-D", "-U", "-I", "-x", "-isystem", "-iquote", "-idirafter", "-include", "-imacros")
"""those whose value may stand right behind them"""
_FLAGS = {
    "-fopenmp": ("_OPENMP", "201511"),
    "--extended-lambda": ("__CUDACC_EXTENDED_LAMBDA__", "1"),
    "-extended-lambda": ("__CUDACC_EXTENDED_LAMBDA__", "1"),
    "--expt-extended-lambda": ("__CUDACC_EXTENDED_LAMBDA__", "1"),
    "-expt-extended-lambda": ("__CUDACC_EXTENDED_LAMBDA__", "1"),
    "--expt-relaxed-constexpr": ("__CUDACC_RELAXED_CONSTEXPR__", "1"),
    "-expt-relaxed-constexpr": ("__CUDACC_RELAXED_CONSTEXPR__", "1"),
    "-rdc=true": ("__CUDACC_RDC__", "1"),
    "--relocatable-device-code=true": ("__CUDACC_RDC__", "1"),
    "-dc": ("__CUDACC_RDC__", "1"),
    "--device-c": ("__CUDACC_RDC__", "1"),
}
_PER_THREAD = {"per-thread": ("CUDA_API_PER_THREAD_DEFAULT_STREAM", "1")}
_STANDARDS = {
    "98": "199711L",
    "03": "199711L",
    "0x": "201103L",
    "11": "201103L",
    "1y": "201402L",
    "14": "201402L",
    "1z": "201703L",
    "17": "201703L",
    "2a": "202002L",
    "20": "202002L",
    "2b": "202302L",
    "23": "202302L",
    "2c": "202400L",
    "26": "202400L",
}
"""the end of the name of a standard of C++ -> `__cplusplus`"""
_LANGUAGES = {"none": "", "cu": "cuda", "cuda": "cuda", "c": "c", "c-header": "c", "c++": "c++", "c++-header": "c++"}
_OF_NVCC = ("__NVCC__", "__CUDACC_VER_MAJOR__", "__CUDACC_VER_MINOR__")


class Flags(Struct):
    """The options of one command line."""

    nvcc: bool = False
    language: str = ""
    """"cuda", "c" or "c++"; "": the suffix decides"""
    macros: dict[str, str | None] = field(default_factory=dict)
    include: list[str] = field(default_factory=list)
    system: list[str] = field(default_factory=list)
    quote: list[str] = field(default_factory=list)
    forced: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, words: Sequence[str], folder: str) -> Flags:
        """Read a command line of a compiler that runs in a folder. Raises ValueError where it cannot be read."""
        flags = cls(nvcc=is_nvcc(words))
        for kind, value in _options(iter(plain_words(words, folder)), flags.nvcc):
            flags._take(kind, value, folder)
        return flags

    def _take(self, kind: str, value: str, folder: str) -> None:
        match kind:
            case "define":
                name, equals, text = value.partition("=")
                self._set(name, text if equals else "1")
            case "undefine":
                self._set(value, None)
            case "include" | "system" | "quote":
                folders: list[str] = getattr(self, kind)
                folders.append(shown_path(folder, value))
            case "forced":
                # One that is not where the compiler runs is sought as any name in quotes.
                here = shown_path(folder, value)
                self.forced.append(here if os.path.isfile(here) else value)
            case "language" if value in _LANGUAGES:
                self.language = _LANGUAGES[value]
            case "standard":
                match = re.fullmatch(r"(?:c|gnu)\+\+(\w\w)", value)
                if match and match[1] in _STANDARDS:
                    self._set("__cplusplus", _STANDARDS[match[1]])
            case "streams" if value in _PER_THREAD:
                self._set(*_PER_THREAD[value])
            case "flag":
                self._set(*_FLAGS[value])

    def _set(self, name: str, text: str | None) -> None:
        # The last word on a name counts, and stands last.
        self.macros.pop(name, None)
        self.macros[name] = text

    def options(self, suffix: str) -> CompilerOptions:
        """Return them for a source whose name ends so."""
        macros = {**dict.fromkeys(self._absent(suffix)), **self.macros}
        if not self._is_cpp(suffix):
            macros["__cplusplus"] = None
        return CompilerOptions(
            tuple(macros.items()),
            _paths(self.quote),
            _paths(self.include),
            _paths(self.system),
            tuple(self.forced),
        )

    def _absent(self, suffix: str) -> Iterator[str]:
        """Yield the macros of a compiler of CUDA that a source of another language does not have."""
        if not (self.language == "cuda" if self.language else suffix in (".cu", ".cuh")):
            yield "__CUDACC__"
            yield from () if self.nvcc else _OF_NVCC

    def _is_cpp(self, suffix: str) -> bool:
        return self.language != "c" if self.language else suffix != ".c"


def _paths(folders: Sequence[str]) -> tuple[Path, ...]:
    return tuple(Path(folder) for folder in dict.fromkeys(folders))


def _options(words: Iterator[str], nvcc: bool) -> Iterator[tuple[str, str]]:
    """Yield what options say: the kind of each, and a value."""
    for word in words:
        if word in _FLAGS:
            yield "flag", word
            continue
        name, value = _parts(word)
        if name not in _KINDS:
            continue
        if value is None:
            value = next(words, "")
        kind = _KINDS[name]
        # Of nvcc's options `=` may stand before the value, and several values behind one name.
        listed = nvcc and kind not in ("language", "standard", "streams")
        for each in in_list(value.removeprefix("=")) if listed else [value]:
            if each and "\0" not in each:
                yield kind, each


def _parts(word: str) -> tuple[str, str | None]:
    """Return an option's name, and its value where it stands in the same word."""
    if word in _KINDS:
        return word, None
    if word in _NOT_JOINED:
        return word, None
    name, equals, value = word.partition("=")
    if equals and name in _KINDS and name not in ("-D", "-U", "-I"):
        return name, value
    for joined in _JOINED:
        if word.startswith(joined):
            return joined, word[len(joined) :]
    return word, None

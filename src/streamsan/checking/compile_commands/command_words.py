"""The words of a compiler's command line, with those of response files, and those that are handed to another tool."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from streamsan.checking.compile_commands.bounded_text import LONGEST, bounded_text, words_of

MOST_WORDS = 100_000
DEEPEST = 10
"""response files within response files"""
_FILES = ("--options-file", "-optf")
_HANDED_ON = ("-Xcompiler", "--compiler-options")
"""nvcc hands these words, separated by commas, to the compiler of the host"""
_PASSED = frozenset({"-Xclang", "-Xpreprocessor"})
"""the word behind it is an option as any other"""
_TAKES_WORD = frozenset(
    {"-o", "-MF", "-MT", "-MQ", "-Xptxas", "-Xcudafe", "-Xlinker", "-Xarchive", "-Xassembler", "-Xnvlink", "-ccbin"}
)
"""the word behind it is a value, whatever it looks like"""
_COMMA = re.compile(r"(?<!\\),")


def is_nvcc(words: Sequence[str]) -> bool:
    """Tell whether a command line is nvcc's, also where another program starts it (ccache)."""
    for word in words:
        if word.startswith("-"):
            return False
        if re.fullmatch(r"nvcc(?:[-_.\d]*|\.exe)", os.path.basename(word)):
            return True
    return False


def in_list(text: str) -> list[str]:
    """Return the parts of a value of nvcc, which separates them by commas."""
    return [part.replace("\\,", ",") for part in _COMMA.split(text)]


def plain_words(words: Sequence[str], folder: str) -> list[str]:
    """Return the options of a command line in one list, response files read. Raises ValueError for one that is not."""
    result: list[str] = []
    for word in _words(iter(words), folder, is_nvcc(words), 0):
        result.append(word)
        if len(result) > MOST_WORDS:
            raise ValueError(f"more than {MOST_WORDS} words")
    return result


def _words(words: Iterator[str], folder: str, nvcc: bool, depth: int) -> Iterator[str]:
    for word in words:
        name, equals, value = word.partition("=")
        if word.startswith("@") and len(word) > 1:
            yield from _of_file(word[1:], folder, nvcc, depth)
        elif name in _FILES:
            for file in in_list(value if equals else next(words, "")):
                yield from _of_file(file, folder, nvcc, depth)
        elif nvcc and name in _HANDED_ON:
            yield from in_list(value if equals else next(words, ""))
        elif word.startswith("-Wp,"):
            yield from word.split(",")[1:]
        elif word in _TAKES_WORD:
            next(words, "")
        elif word not in _PASSED:
            yield word


def _of_file(name: str, folder: str, nvcc: bool, depth: int) -> Iterator[str]:
    if depth >= DEEPEST:
        raise ValueError(f"{name}: response files within response files without end")
    try:
        words = words_of(bounded_text(os.path.join(folder, name), LONGEST))
    except ValueError as error:
        raise ValueError(f"{name}: {str(error)[:1].lower()}{str(error)[1:]}") from error
    yield from _words(iter(words), folder, nvcc, depth + 1)

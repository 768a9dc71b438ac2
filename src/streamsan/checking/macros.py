"""`-D` and `-U`: macros as options name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from streamsan.checking.option_error import OptionError
from streamsan.patterns.late_pattern import late_pattern
from streamsan.report.printable import printable

Macros = tuple[tuple[str, str | None], ...]
"""names, with parameters if they have some, and texts, None where a macro is taken away; the last word counts"""
_NAME = late_pattern(r"[^\W\d]\w*(?:\([\w\s,.]*\))?")


def defined(word: str) -> tuple[str, str]:
    """Read `NAME`, `NAME=TEXT` or `NAME(PARAMETERS)=TEXT`. Raises OptionError."""
    name, equals, text = word.partition("=")
    if not _NAME.fullmatch(name):
        raise OptionError(f"-D: '{printable(word)}' does not name a macro")
    return name, text if equals else "1"


def undefined(word: str) -> tuple[str, None]:
    """Read the name of a macro that is to be none. Raises OptionError."""
    if not word.isidentifier():
        raise OptionError(f"-U: '{printable(word)}' does not name a macro")
    return word, None


def macros_of(defines: Mapping[str, str], undefines: Iterable[str]) -> Macros:
    """Return macros that are defined, but for those that are taken away. Raises OptionError."""
    given = [defined(f"{name}={text}") for name, text in defines.items()]
    return (*given, *(undefined(name) for name in undefines))


def in_order(defines: Sequence[str], undefines: Sequence[str], order: Iterable[bool]) -> Macros:
    """Return macros in the order in which `-D` (True) and `-U` (False) stand; what has no place in it comes first.

    Raises OptionError for a word that names no macro.
    """
    given = [defined(word) for word in defines]
    gone = [undefined(word) for word in undefines]
    places = list(order)
    first = [*given[: len(given) - places.count(True)], *gone[: len(gone) - places.count(False)]]
    rest = {True: iter(given[len(given) - places.count(True) :]), False: iter(gone[len(gone) - places.count(False) :])}
    return (*first, *(next(rest[is_defined]) for is_defined in places))

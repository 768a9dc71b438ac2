"""One published argument list of an API."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

from streamsan.effects.roles import HANDLE_WORDS, OUT_ROLES, Role
from streamsan.patterns.late_pattern import late_pattern

_PARAMETER = late_pattern(r"(?P<name>\w+)(?P<rest>\.\.\.)?: (?P<role>[a-z_ ]+?)(?: = (?P<default>.+))?$")
_TAG = late_pattern(r"\[(?P<tag>[^\]]*)\] ?")


class TableError(ValueError):
    """The effects table itself is wrong; the message names the row."""


class Parameter(Struct, frozen=True):
    """One parameter of a published argument list."""

    name: str
    role: Role
    handle: str = ""
    """for HANDLE and OUT_HANDLE, which: one of roles.HANDLE_WORDS"""
    default: str | None = None
    """the C++ default argument as written in the header; None: the argument is required"""
    variadic: bool = False
    """takes all further arguments"""

    @property
    def is_out(self) -> bool:
        """Whether the call writes through this argument."""
        return self.role in OUT_ROLES


class Signature(Struct, frozen=True, dict=True):
    """One published argument list: how many arguments, and what each one is."""

    parameters: tuple[Parameter, ...]
    tag: str = ""
    """where it was published: "" everywhere, "-12.9", "13.0-", "_v3", "c++", an extension's name"""

    @cached_property
    def least(self) -> int:
        """Fewest arguments that a call needs."""
        return sum(1 for parameter in self.parameters if parameter.default is None and not parameter.variadic)

    @cached_property
    def most(self) -> int | None:
        """Most arguments that a call may have; None without limit."""
        return None if any(parameter.variadic for parameter in self.parameters) else len(self.parameters)

    def accepts(self, count: int) -> bool:
        """Return whether a call with this many arguments is well-formed."""
        return self.least <= count and (self.most is None or count <= self.most)

    def parameter(self, position: int) -> Parameter | None:
        """Return the parameter that takes the argument at this position (from 0); None beyond the list."""
        if 0 <= position < len(self.parameters):
            return self.parameters[position]
        if self.parameters and self.parameters[-1].variadic and position >= 0:
            return self.parameters[-1]
        return None

    def first(self, role: Role, handle: str = "") -> Parameter | None:
        """Return the first parameter of a role (and handle type), if there is one."""
        return self._firsts.get((role, handle))

    @cached_property
    def _firsts(self) -> dict[tuple[Role, str], Parameter]:
        """The first parameter of each role, and of each role and handle type."""
        found: dict[tuple[Role, str], Parameter] = {}
        for parameter in self.parameters:
            found.setdefault((parameter.role, ""), parameter)
            found.setdefault((parameter.role, parameter.handle), parameter)
        return found

    def with_role(self, role: Role) -> Iterator[Parameter]:
        """Yield the parameters of a role, in order."""
        return (parameter for parameter in self.parameters if parameter.role is role)

    @cached_property
    def outs(self) -> tuple[Parameter, ...]:
        """The parameters through which the call gives something back."""
        return tuple(parameter for parameter in self.parameters if parameter.is_out)

    @property
    def names(self) -> str:
        """The parameter names, as in a message: `devPtr, hStream`."""
        return ", ".join(parameter.name for parameter in self.parameters)


def parse_signature(text: str, where: str) -> Signature:
    """Return the argument list written as `[tag] name: role = default, ...`; raise TableError if it is not one."""
    tag = ""
    if match := _TAG.match(text):
        tag, text = match["tag"], text[match.end() :]
    return Signature(tuple(_parse_parameter(part, where) for part in text.split(", ") if part), tag)


def _parse_parameter(text: str, where: str) -> Parameter:
    match = _PARAMETER.match(text)
    if match is None:
        raise TableError(f"{where}: not a parameter: {text!r}")
    word, handle = match["role"], ""
    if word in HANDLE_WORDS:
        word, handle = "handle", word
    elif word.startswith("out ") and word[4:] in HANDLE_WORDS:
        word, handle = "out handle", word[4:]
    try:
        role = Role(word)
    except ValueError:
        raise TableError(f"{where}: unknown role {match['role']!r}") from None
    if role in (Role.HANDLE, Role.OUT_HANDLE) and not handle:
        raise TableError(f"{where}: a handle must say which")
    return Parameter(match["name"], role, handle, match["default"], match["rest"] is not None)

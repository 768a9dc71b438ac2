"""Names as the linker knows them, in the C++ ABI that CUDA uses, and back to the name that was written."""

from __future__ import annotations

import re
from collections.abc import Sequence

from streamsan.cuda_syntax.tree import Expression, Literal_, Type

_BUILT_IN = {
    "void": "v", "bool": "b", "char": "c", "signed char": "a", "unsigned char": "h", "short": "s",
    "unsigned short": "t", "int": "i", "unsigned": "j", "unsigned int": "j", "long": "l", "unsigned long": "m",
    "long long": "x", "unsigned long long": "y", "float": "f", "double": "d", "wchar_t": "w", "size_t": "m",
    "int8_t": "a", "uint8_t": "h", "int16_t": "s", "uint16_t": "t", "int32_t": "i", "uint32_t": "j", "int64_t": "l",
    "uint64_t": "m", "uint": "j", "uchar": "h", "ushort": "t", "ulong": "m", "ptrdiff_t": "l", "intptr_t": "l",
    "uintptr_t": "m", "char16_t": "Ds", "char32_t": "Di", "CUdeviceptr": "y", "signed": "i",
}  # fmt: skip
_LENGTH = re.compile(r"\d+")


class _Mangler:
    """One name. `seen` are the substitutions, by what they stand for."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def substituted(self, key: str) -> str | None:
        number = self._seen.get(key)
        if number is None:
            return None
        return "S_" if number == 0 else f"S{_base36(number - 1)}_"

    def remember(self, key: str) -> None:
        self._seen.setdefault(key, len(self._seen))

    def name(self, written: str, arguments: Sequence[Type | Expression] = (), function: bool = False) -> str:
        parts = [part for part in written.split("::") if part]
        if len(parts) == 1:
            text = _source_name(parts[0])
            if arguments:
                known = self.substituted(text) if not function else None
                if known is None:
                    self.remember(text)
                text = (known or text) + self.arguments(arguments)
            return text
        prefix = ""
        for part in parts[:-1]:
            key = prefix + _source_name(part)
            if self.substituted(key) is None:
                self.remember(key)
            prefix = key
        text = prefix + _source_name(parts[-1])
        if arguments:
            self.remember(text)
            text += self.arguments(arguments)
        return f"N{text}E"

    def arguments(self, arguments: Sequence[Type | Expression]) -> str:
        return "I" + "".join(self.argument(argument) for argument in arguments) + "E"

    def argument(self, argument: Type | Expression) -> str:
        if isinstance(argument, Type):
            if argument.name.isdigit() and not argument.pointers:
                return f"Li{argument.name}E"
            return self.type(argument)
        if isinstance(argument, Literal_) and isinstance(argument.value, bool):
            return f"Lb{int(argument.value)}E"
        if isinstance(argument, Literal_) and isinstance(argument.value, int):
            return f"Li{'n' if argument.value < 0 else ''}{abs(argument.value)}E"
        return "v"

    def type(self, of: Type) -> str:
        pointers = of.pointers + len(of.array)
        base = _BUILT_IN.get(of.name.removeprefix("std::"))
        if base is None:
            key = f"{of.name}{of.arguments!r}"
            base = self.substituted(key)
            if base is None:
                base = self.name(of.name, of.arguments)
                self.remember(key)
        if not pointers and not of.reference:
            return base
        wrappers = (["K"] if of.const else []) + ["P"] * pointers
        wrappers += [{"&": "R", "&&": "O"}[of.reference]] if of.reference else []
        key, text = f"{of.name}{of.arguments!r}", base
        keys = []
        for wrapper in wrappers:
            key = wrapper + key
            keys.append(key)
        for index in range(len(keys) - 1, -1, -1):
            known = self.substituted(keys[index])
            if known is not None:
                text = known
                wrappers, keys = wrappers[index + 1 :], keys[index + 1 :]
                break
        for wrapper, whole in zip(wrappers, keys, strict=True):
            text = wrapper + text
            self.remember(whole)
        return text


def mangled(
    name: str, parameters: Sequence[Type], arguments: Sequence[Type | Expression] = (), template: bool = False
) -> str:
    """Return the linker's name of a function. Parameters' types are as resolved as they can be."""
    mangler = _Mangler()
    text = mangler.name(name, arguments, function=True)
    returns = "v" if template else ""
    types = "".join(mangler.type(parameter) for parameter in parameters) or "v"
    return f"_Z{text}{returns}{types}"


def mangled_variable(name: str) -> str:
    """Return the linker's name of a variable: its own, unless it stands in a namespace."""
    return name if "::" not in name else "_Z" + _Mangler().name(name)


def base_name(lowered: str) -> str | None:
    """Return the written name (with namespaces, without template arguments) of a mangled one; None if it is none."""
    if not lowered.startswith("_Z"):
        return None
    at = 2
    nested = lowered[at : at + 1] == "N"
    at += nested
    parts: list[str] = []
    while match := _LENGTH.match(lowered, at):
        length = int(match[0]) if len(match[0]) < 5 else 0
        part = lowered[match.end() : match.end() + length]
        if not length or len(part) < length:
            return None
        parts.append(part)
        at = match.end() + length
        if not nested:
            break
    return "::".join(parts) or None


def _source_name(part: str) -> str:
    return f"{len(part)}{part}"


def _base36(number: int) -> str:
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    text = ""
    while True:
        number, rest = divmod(number, 36)
        text = digits[rest] + text
        if not number:
            return text

"""One platform, read from its folder of data. A file is read when something of it is first asked for."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from streamsan.effects.callbacks import Callback, callbacks
from streamsan.effects.table import Effects
from streamsan.effects.waits import Endpoint, Waits
from streamsan.patterns.late_pattern import late_pattern
from streamsan.platforms.platform_facts import FreeFacts, Interface, MemoryFacts, Statuses
from streamsan.vocabulary import FreeClass, MemoryKind

_WORD = late_pattern(r"(?P<start>\\b)?(?P<literal>[\w<:/]+)(?P<rest>.*)")
"""a word of a source, as the facts have it: whether it begins one there, and what follows its first letters"""
_NOTHING_KNOWN = MemoryFacts()
_NOTHING_SAID = FreeFacts()
NO_HANDLE = -1
"""in place of a default stream's handle where the platform has none: no handle is negative"""


class _BindingModule(msgspec.Struct):
    enums: dict[str, dict[str, int]]
    constants: dict[str, int]


class _Bindings(msgspec.Struct):
    """Of what the bindings offer the numbers alone: to read nothing else takes a tenth of the time."""

    new: dict[str, _BindingModule | str]


class Platform:
    """What the tool knows of one platform; `name` is what traces call it ("cuda")."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.name

    # -- the API ----------------------------------------------------------------------------------
    @cached_property
    def effects(self) -> Effects:
        """The API's table."""
        return Effects(self.folder / "api", lambda name: "driver" if self.is_low_level(name) else "runtime")

    @cached_property
    def constants(self) -> Mapping[str, int]:
        """The numbers of enumerators and flags that programs pass by name.

        The version is not among them: for which one a program is built, its headers say.
        """
        found: dict[str, int] = {}
        if (self.folder / "constants.json").is_file():
            found |= msgspec.json.decode((self.folder / "constants.json").read_bytes())
            return MappingProxyType({name: value for name, value in found.items() if self.is_type(name)})
        for module in msgspec.json.decode(self._bindings_text(), type=_Bindings).new.values():
            if isinstance(module, _BindingModule):
                for group in module.enums.values():
                    found |= group
                found |= {name: value for name, value in module.constants.items() if not name.endswith("_VERSION")}
        return MappingProxyType({name: value for name, value in found.items() if self.is_type(name)})

    @cached_property
    def bindings(self) -> Mapping[str, Any]:
        """What the platform's Python bindings offer: their newer version, and where the older one differs."""
        found: dict[str, Any] = msgspec.json.decode(self._bindings_text())
        return found

    @cached_property
    def waits(self) -> Waits:
        """What copies and fills make the host wait for."""
        return Waits(self._read("waits.toml"))

    @cached_property
    def callbacks(self) -> tuple[Callback, ...]:
        """The entry points that a recorder may be called back for."""
        return tuple(callbacks(self.effects, self.folder / "callbacks.json"))

    @cached_property
    def driver_symbols(self) -> frozenset[str]:
        """The names that the driver exports its functions by, with their versions (`cuMemAlloc_v2`)."""
        document = msgspec.json.decode((self.folder / "callbacks.json").read_bytes())
        return frozenset(name for name in document["driver"] if not self.effects.per_thread(name))

    # -- memory -----------------------------------------------------------------------------------
    @cached_property
    def memory(self) -> Mapping[MemoryKind, MemoryFacts]:
        """What is known of each kind of memory. One that is missing is not this platform's."""
        return {
            MemoryKind[kind]: MemoryFacts(
                **{**row, "side": Endpoint(row["side"]), "facts": tuple(row.get("facts", ()))}
            )
            for kind, row in self._facts["memory"].items()
        }

    @cached_property
    def frees(self) -> Mapping[FreeClass, FreeFacts]:
        """What is known of each family of frees. One that is missing is not this platform's."""
        return {FreeClass[family]: _free_facts(row) for family, row in self._facts["free"].items()}

    def side(self, kind: MemoryKind | None) -> Endpoint:
        """Return as what a copy sees memory of a kind; None: the kind is not known."""
        return Endpoint.UNKNOWN if kind is None else self.memory.get(kind, _NOTHING_KNOWN).side

    def dies_with_context(self, kind: MemoryKind) -> bool:
        """Return whether memory of a kind is gone after a reset or the end of the context that made it."""
        return self.memory.get(kind, _NOTHING_KNOWN).dies_with_context

    def reached_by_all(self, kind: MemoryKind) -> bool:
        """Return whether every device reaches memory of a kind; other memory needs peer access, or its pool's leave."""
        return self.memory.get(kind, _NOTHING_KNOWN).every_device

    def pageable(self, kind: MemoryKind) -> bool:
        """Return whether memory of a kind is the host's own, unknown to the device."""
        return self.side(kind) is Endpoint.PAGEABLE

    def is_hosts_own(self, kind: MemoryKind) -> bool:
        """Return whether memory is the host's own, as far as is known: pageable, or of an unknown kind."""
        return self.side(kind) in (Endpoint.PAGEABLE, Endpoint.UNKNOWN)

    def host_side(self, kind: MemoryKind) -> bool:
        """Return whether memory of a kind is surely the host's, pinned or not; managed memory is nobody's."""
        return self.side(kind).is_host

    def accepts(self, family: FreeClass, kind: MemoryKind) -> bool:
        """Return whether such a free releases memory of a kind. True of unknown kinds and of other platforms'."""
        accepted = self.frees.get(family, _NOTHING_SAID).accepts
        return accepted is None or kind in accepted or kind is MemoryKind.UNKNOWN or kind not in self.memory

    def free_waits(self, family: FreeClass, kind: MemoryKind) -> bool:
        """Return whether such a free of such memory waits for all work of the context that owns it (observed)."""
        return self.frees.get(family, _NOTHING_SAID).waits and not self.memory.get(kind, _NOTHING_KNOWN).pooled

    # -- calls ------------------------------------------------------------------------------------
    @cached_property
    def calls_before_init(self) -> tuple[str, ...]:
        """How the names of calls begin that work before the platform is initialised."""
        return tuple(self._facts["calls"]["before_init"])

    @cached_property
    def calls_without_context(self) -> frozenset[str]:
        """Names of calls that need no current context, though others with their effect do."""
        return frozenset(self._facts["calls"]["without_context"])

    @cached_property
    def calls_of_a_context(self) -> tuple[str, ...]:
        """How the names of calls begin that need a current context, where their effect does not say so."""
        return tuple(self._facts["calls"]["of_a_context"])

    # -- handles and statuses ---------------------------------------------------------------------
    @property
    def legacy_stream(self) -> int:
        """The handle of a context's default stream."""
        return self._default_stream("legacy")

    @property
    def per_thread_stream(self) -> int:
        """The handle of a thread's own default stream. Streams that were made have greater ones."""
        return self._default_stream("per_thread")

    def _default_stream(self, which: str) -> int:
        name = self._facts.get("streams", {}).get(which)
        return NO_HANDLE if name is None else self.constants[name]

    @cached_property
    def status(self) -> Statuses:
        """The numbers of statuses."""
        numbers = self.constants
        rows: dict[str, Any] = {key: numbers[name] for key, name in self._facts["status"].items()}
        for key, names in self._facts["statuses"].items():
            rows[key] = frozenset(numbers[name] for name in names)
        return Statuses(**rows)

    # -- names ------------------------------------------------------------------------------------
    @cached_property
    def interfaces(self) -> tuple[Interface, ...]:
        """The interfaces of the platform, that of the longest prefix first."""
        rows = (Interface(name, **row) for name, row in self._facts["interface"].items())
        return tuple(sorted(rows, key=lambda each: -len(each.prefix)))

    def interface(self, api: str) -> Interface | None:
        """Return the interface whose function a name is (cuMemFree: the driver's); None where it is none's."""
        return next((each for each in self.interfaces if api.startswith(each.prefix)), None)

    def is_low_level(self, api: str) -> bool:
        """Return whether a name is one of the low-level interface: cuMemFreeAsync, not cudaFreeAsync."""
        interface = self.interface(api)
        return interface is not None and interface.low_level

    def is_function(self, name: str) -> bool:
        """Return whether a name is written as those of the platform's functions are, known or not."""
        interface = self.interface(name)
        return interface is not None and name[len(interface.prefix) :][:1].isupper()

    def is_type(self, name: str) -> bool:
        """Return whether a name is written as those of the platform's types and constants are."""
        return name.startswith(self._type_beginnings)

    @cached_property
    def _type_beginnings(self) -> tuple[str, ...]:
        return tuple(self._facts["types"])

    def error_name(self, status: int, api: str) -> str:
        """Return what a status is called where this call is (cudaErrorInvalidValue); "error 42" if it has no name."""
        return self.error_names(api).get(status, f"error {status}")

    def error_names(self, api: str) -> Mapping[int, str]:
        """Return what the errors are called where a call is, by their numbers."""
        interface = self.interface(api) or self.interfaces[0]
        return self._error_names[interface.errors]

    def low_level_name(self, name: str) -> str | None:
        """Return what the low-level interface calls the same thing (cudaFree: cuMemFree); None where it has none."""
        return next((each.names.get(name) for each in self.interfaces if each.low_level), None)

    def in_low_level_names(self, text: str) -> str:
        """Return a text with the low-level interface's functions for the others'; one without a counterpart stays."""
        return self.high_level_word.sub(lambda found: self.low_level_name(found[0]) or found[0], text)

    def has_word(self, source: str) -> bool:
        """Tell whether a source has a word that has to do with the platform."""
        return any(
            literal in source and (pattern is None or pattern.search(source) is not None)
            for literal, pattern in self._source_words
        )

    @cached_property
    def _source_words(self) -> list[tuple[str, re.Pattern[str] | None]]:
        """Literals that words begin with, and patterns where a word is more. That they begin a word is asked last:

        to look for a literal first, or for a pattern that begins with one, takes a tenth of the time.
        """
        words = (_WORD.fullmatch(word) for word in self._facts["sources"]["words"])
        found = [(each["start"], each["literal"], each["rest"]) for each in words if each is not None]
        return [
            (literal, re.compile(f"{literal}(?<!\\w{literal}){rest}" if start else literal + rest))
            if start or rest
            else (literal, None)
            for start, literal, rest in found
        ]

    @cached_property
    def high_level_word(self) -> re.Pattern[str]:
        """Finds names of interfaces that are not the low-level one in a text."""
        prefixes = "|".join(re.escape(each.prefix) for each in self.interfaces if not each.low_level)
        return re.compile(rf"\b(?:{prefixes})[A-Z]\w*")

    @cached_property
    def _error_names(self) -> dict[str, dict[int, str]]:
        # Of several names for one number the first counts.
        backwards = list(self.constants.items())[::-1]
        return {
            each.errors: {
                number: name
                for name, number in backwards
                if name.startswith(each.errors) and (number < 0 if each.negative else number > 0)
            }
            for each in self.interfaces
        }

    @cached_property
    def rule_texts(self) -> Mapping[str, Any]:
        """What its documentation and hardware say on the rules, and its calls in fixes (rules.toml)."""
        return self._read("rules.toml") if (self.folder / "rules.toml").is_file() else {}

    def in_own_words(self, text: str, of_object: bool = False) -> str:
        """Return a text with the platform's nouns and verbs for CUDA's: a queue for a stream. Names stay.

        `of_object`: it is about memory that is an object with a handle, which is released.
        """
        words = self._words_of_objects if of_object else self.rule_texts.get("words", {})
        if not words:
            return text
        foreign = self._foreign_word_of_objects if of_object else self._foreign_word
        parts = text.split("`")  # every second one is a name
        parts[::2] = [foreign.sub(lambda found: words[found[0]], part) for part in parts[::2]]
        return "`".join(parts)

    @cached_property
    def _words_of_objects(self) -> dict[str, str]:
        return {**self.rule_texts.get("words", {}), **self.rule_texts.get("object_words", {})}

    @cached_property
    def _foreign_word(self) -> re.Pattern[str]:
        return _any_of(self.rule_texts.get("words", {}))

    @cached_property
    def _foreign_word_of_objects(self) -> re.Pattern[str]:
        return _any_of(self._words_of_objects)

    @cached_property
    def measured_on(self) -> tuple[str, ...]:
        """The machine that the observations are of, one name; () where it is that of most of docs/facts.md."""
        where = self.rule_texts.get("phrase", {}).get("measured_on")
        return () if where is None else (where,)

    def release(self, kind: MemoryKind) -> str:
        """Return the function that gives memory of a kind back; "" where that is not known."""
        name: str = self.rule_texts.get("release", {}).get(kind.name, "")
        return name

    # -- files ------------------------------------------------------------------------------------
    @cached_property
    def _facts(self) -> dict[str, Any]:
        return self._read("facts.toml")

    def _bindings_text(self) -> bytes:
        return (self.folder / "python_bindings.json").read_bytes()

    def _read(self, name: str) -> dict[str, Any]:
        return tomllib.loads((self.folder / name).read_text(encoding="utf-8"))


def _free_facts(row: dict[str, Any]) -> FreeFacts:
    accepts = frozenset(MemoryKind[kind] for kind in row["accepts"]) if "accepts" in row else None
    return FreeFacts(**{**row, "accepts": accepts, "facts": tuple(row.get("facts", ()))})


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    longest_first = [re.escape(word) for word in sorted(words, key=len, reverse=True)]
    phrases = "|".join(word for word in longest_first if "\\ " in word)
    # A single word that stands in brackets as an argument is a name of the program's.
    return re.compile(rf"(?<!\w)(?:{phrases})(?!\w)|(?<![\w(.])(?:{'|'.join(longest_first)})(?![\w(),;])")

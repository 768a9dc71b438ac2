"""Classes of the program, and where a name stands when it is looked up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from msgspec import Struct, field

from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax import tree


class Context(Protocol):
    """Where a name stands: what templates bind there, the namespace, the class."""

    bindings: dict[str, Any]
    namespace: str
    cls: ClassInfo | None


class PlainContext(Struct):
    """A context that is not a frame."""

    bindings: dict[str, Any] = field(default_factory=dict)
    namespace: str = ""
    cls: ClassInfo | None = None


class ClassInfo(Struct, eq=False):
    """A class, or one instantiation of a class template."""

    name: str
    node: tree.Class
    arguments: tuple[Any, ...]
    bindings: dict[str, Any]
    methods: dict[str, list[tree.Function]]
    """own methods by last name; constructors under "", the destructor under "~" """
    bases: list[ClassInfo] = field(default_factory=list)
    unknown_bases: list[CType] = field(default_factory=list)
    library_bases: list[CType] = field(default_factory=list)

    @property
    def namespace(self) -> str:
        """The namespace that holds the class."""
        return self.name.rpartition("::")[0]

    @property
    def has_pack_of_bases(self) -> bool:
        """Whether the bases are what a parameter pack stands for: `struct Overloaded : Functions... {}`."""
        packs = {parameter.name for parameter in self.node.templates if parameter.pack}
        return any(base.name in packs for base in self.node.bases)

    def context(self) -> PlainContext:
        """The context of the members' declarations."""
        return PlainContext(self.bindings, self.namespace, self)

    def lineage(self) -> Iterable[ClassInfo]:
        """The class, then its bases, nearest first."""
        yield self
        for base in self.bases:
            yield from base.lineage()

    def find_method(self, name: str) -> tuple[list[tree.Function], ClassInfo] | None:
        """Find the overloads that a call by name means."""
        for cls in self.lineage():
            found = cls.methods.get(name)
            if found:
                return found, cls
        return None

    def constructors(self) -> list[tree.Function]:
        """Return the constructors that may be called."""
        return [constructor for constructor in self.methods.get("", []) if not constructor.deleted]

    def own_fields(self) -> list[tree.Variable]:
        """Non-static data members."""
        return [variable for variable in self.node.fields if not variable.static]

    def static_fields(self) -> list[tree.Variable]:
        """Static data members."""
        return [variable for variable in self.node.fields if variable.static]

    def is_a(self, name: str) -> bool:
        """Tell whether the class is, or derives from, the class of that name."""
        return any(cls.name == name for cls in self.lineage())


def last_name(name: str) -> str:
    """Return `f` of `ns::Class::f`."""
    return name.rpartition("::")[2]

"""What the names of types mean in a unit: aliases, classes, enumerations, constants, and what templates bind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Self, TypeVar

from streamsan.cuda_syntax import tree

MOST_NESTING: Final = 16


class NamedTypes:
    """Resolves the types of one translation unit; `bound` are the arguments of a template."""

    def __init__(
        self, declarations: list[tree.Statement], bound: Mapping[str, tree.Type | tree.Expression] | None = None
    ) -> None:
        self._aliases: dict[str, tree.Alias] = {}
        self.classes: dict[str, tree.Class] = {}
        self.enums: dict[str, tree.Enum] = {}
        self._constants: dict[str, int] = {}
        self.bound = dict(bound or {})
        self._collect(declarations)

    def with_arguments(self, bound: Mapping[str, tree.Type | tree.Expression]) -> Self:
        """Return the same unit's types under other template arguments."""
        other = type(self)([], bound)
        other._aliases, other.classes = self._aliases, self.classes
        other.enums, other._constants = self.enums, self._constants
        return other

    @property
    def has_aliases(self) -> bool:
        """Whether the unit names a type anew."""
        return bool(self._aliases)

    def resolved(self, of: tree.Type, depth: int = 0) -> tree.Type:
        """Return a type with aliases and template parameters replaced, as far as they are known."""
        while depth < MOST_NESTING:
            depth += 1
            bound = self.bound.get(of.name)
            if bound is None:
                alias = visible(self._aliases, of.name)
                bound = None if alias is None else alias.type
            if not isinstance(bound, tree.Type):
                break
            of = tree.Type(
                bound.name,
                bound.arguments,
                bound.pointers + of.pointers,
                of.reference or bound.reference,
                bound.const or (of.const and not bound.pointers),  # else it is the pointer that is constant
                [*of.array, *bound.array],
                bound.function or of.function,
            )
        return of

    def constant(self, expression: tree.Expression | tree.Type | None) -> int | None:
        """Return the value of a constant, if it is as simple as a name or a number; also as a template's argument."""
        if isinstance(expression, tree.Type):
            number = expression.name
            return int(number) if number.isdigit() else self.constant(self.bound.get(number))
        if isinstance(expression, tree.Literal_) and isinstance(expression.value, int):
            return int(expression.value)
        if isinstance(expression, tree.Name):
            bound = self.bound.get(expression.name)
            if isinstance(bound, tree.Literal_):
                return self.constant(bound)
            if isinstance(bound, tree.Type):
                return int(bound.name) if bound.name.isdigit() else None
            return self._constants.get(expression.name)
        return None

    def inside(self, known: tree.Class, of: tree.Type) -> Self:
        """Return the types as a class sees them that is named by a type with template arguments."""
        bound = dict(self.bound)
        for parameter, argument in zip(known.templates, of.arguments, strict=False):
            if isinstance(argument, tree.Type):
                number = self.bound.get(argument.name)  # `Row<T, N>` in a template with a number N
                argument = number if isinstance(number, tree.Expression) else self.resolved(argument)
            bound[parameter.name] = argument
        return self.with_arguments(bound)

    def _collect(self, declarations: list[tree.Statement]) -> None:
        for declared in declarations:
            if isinstance(declared, tree.Alias):
                self._aliases[declared.name] = declared
            elif isinstance(declared, tree.Class):
                self.classes[declared.name] = declared
                self._collect(declared.nested)
            elif isinstance(declared, tree.Enum):
                self.enums[declared.name] = declared
            elif isinstance(declared, tree.Variable) and declared.type.const and not declared.type.pointers:
                value = self.constant(declared.initializer)
                if value is not None:
                    self._constants[declared.name] = value


_Declared = TypeVar("_Declared")


def visible(known: Mapping[str, _Declared], name: str) -> _Declared | None:
    """Return what a name means: itself, or, in some namespace or class, the only one of that name."""
    found = known.get(name)
    if found is not None:
        return found
    ending = "::" + name
    matches = [declared for full, declared in known.items() if full.endswith(ending)]
    return matches[0] if len(matches) == 1 else None

"""What a unit defines for other units of its program, and what it declares and uses without a definition."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from streamsan.cuda_source.program.index import Program
from streamsan.cuda_source.program.linkage import is_definition, is_internal, is_internal_variable
from streamsan.cuda_source.values.classes import last_name
from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import nodes


class Symbols(Struct, frozen=True):
    """Names as a linker would know them: a function's with the number of its parameters."""

    defines: frozenset[str]
    needs: frozenset[str]
    has_main: bool


def symbols_of(unit: tree.Unit) -> Symbols:
    """Return what a unit's own file defines for others, and what is used in it and defined nowhere in the unit."""
    program = Program(unit)
    defined: set[str] = set()
    exported: set[str] = set()
    declared: set[str] = set()
    for name, function in _functions(program):
        symbol = f"{name}/{len(function.parameters)}"
        if function.body is None:
            if not (function.deleted or function.defaulted or function.device_only):
                declared.add(symbol)
            continue
        defined.add(symbol)
        if function.span.file == unit.file and not is_internal(program, name, function):
            exported.add(symbol)
    for variable in program.globals:
        if is_internal_variable(variable):
            continue
        if not is_definition(variable):
            declared.add(variable.name)
            continue
        defined.add(variable.name)
        if variable.span.file == unit.file:
            exported.add(variable.name)
    used = set(_used_names(program, unit.file))
    needs = {symbol for symbol in declared - defined if _is_used(symbol, used)}
    main = any(function.body is not None for function in program.functions.get("main", []))
    return Symbols(frozenset(exported - {"main/0", "main/2", "main/3"}), frozenset(needs), main)


def _functions(program: Program) -> Iterator[tuple[str, tree.Function]]:
    for name, functions in program.functions.items():
        yield from ((name, each) for each in functions)
    for name, node in program.classes.items():
        for method in program.members_of(name, node):
            yield f"{name}::{last_name(method.name)}", method


def _is_used(symbol: str, used: set[str]) -> bool:
    """Tell whether a name may be meant: of a constructor or destructor, the class's."""
    return last_name(symbol.partition("/")[0]).lstrip("~") in used


def _used_names(program: Program, file: str) -> Iterator[str]:
    """Yield the last names that a file's own functions and variables mention."""
    roots: list[object] = [each for each in program.globals if each.span.file == file]
    for function in program.bodies():
        if function.span.file == file:
            roots += [function.body, *(given for _, given, _ in function.initializers)]
    for node in nodes(roots):
        if isinstance(node, tree.Name):
            yield last_name(node.name)
        elif isinstance(node, tree.Member):
            yield last_name(node.member)
        elif isinstance(node, tree.Variable | tree.New):
            yield from _type_names(node.type)
    for node in program.classes.values():
        for field in node.fields:
            yield from _type_names(field.type)


def _type_names(type: tree.Type) -> Iterator[str]:
    yield last_name(type.name)
    for argument in type.arguments:
        if isinstance(argument, tree.Type):
            yield from _type_names(argument)

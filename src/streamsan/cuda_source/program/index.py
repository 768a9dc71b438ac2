"""The declarations of a unit, found by name: functions, classes with their members, enumerators, aliases, globals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from streamsan.cuda_source.program.constants import Constants
from streamsan.cuda_source.values.cells import Cell
from streamsan.cuda_source.values.classes import ClassInfo, Context, PlainContext, last_name
from streamsan.cuda_source.values.frame import Frame
from streamsan.cuda_source.values.types import SCALAR_SIZES, CType, TypePack, canonical_name
from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.header_structures import header_aliases, header_structures
from streamsan.cuda_syntax.walk import nodes
from streamsan.vocabulary import AccessMode

Found = TypeVar("Found")
DEEPEST_ALIAS = 32


class Program:
    """Index of a unit's declarations."""

    def __init__(self, unit: tree.Unit) -> None:
        self.unit = unit
        self.functions: dict[str, list[tree.Function]] = {}
        self.classes: dict[str, tree.Class] = {}
        self.enumerators: dict[str, tuple[tree.Enum, int]] = {}
        self.enums: dict[str, tree.Enum] = {}
        self.aliases: dict[str, tree.Alias] = {}
        self.globals: list[tree.Variable] = []
        self.kernel_texts: dict[tuple[str, str, str | None], Any] = {}
        """What is known of kernels in OpenCL C, by their names and the texts of their programs."""
        self.given_uses: dict[int, tuple[tree.Function | tree.Lambda, AccessMode, dict[str, AccessMode]]] = {}
        """How host functions use what they are given: identity of a function -> it, on the whole, by members."""
        self.global_names: dict[str, tree.Variable] = {}
        self.macros: dict[str, tree.Macro] = unit.macros
        self.constants = Constants(self.macros, self.enumerators)
        self.using: list[str] = []
        self.fragment: tree.Function | None = None
        self._resolving: list[str] = []
        self._lines: dict[str, list[str]] = {}
        self._types: dict[tuple[Any, ...], CType] = {}
        self._local: set[int] = set()
        self._found: dict[tuple[int, str, str, str], Any] = {}
        self._hidden: dict[tuple[str, str, str, str], bool] = {}
        """aliases, and what names them where -> whether a class is meant there"""
        self._by_last: dict[int, dict[str, list[str]]] = {}
        self._members: dict[str, list[tree.Function]] = {}
        self._class_cache: dict[tuple[str, tuple[Any, ...]], ClassInfo | None] = {}
        self._index(unit.declarations, "")
        for name, node in header_structures().items():
            self.classes.setdefault(name, node)
        for name, alias in header_aliases().items():
            if name not in self.classes:
                self.aliases.setdefault(name, alias)
        self._attach_members()
        for functions in self.functions.values():
            _give_defaults(functions)

    # -- indexing ----------------------------------------------------------------------------------

    def _index(self, declarations: Iterable[tree.Statement], outer: str) -> None:
        for node in declarations:
            if isinstance(node, tree.Function):
                if node.name == "" and not node.kernel:
                    self.fragment = node
                else:
                    self.functions.setdefault(node.name, []).append(node)
            elif isinstance(node, tree.Class):
                self._index_class(node, outer)
            elif isinstance(node, tree.Enum):
                name = self._qualified(node.name, outer)
                self.enums[name] = node
                scope = name.rpartition("::")[0]
                for position, (item, _) in enumerate(node.items):
                    self.enumerators[f"{name}::{item}" if name else item] = (node, position)
                    if not node.scoped:
                        self.enumerators[f"{scope}::{item}" if scope else item] = (node, position)
            elif isinstance(node, tree.Alias):
                self.aliases[self._qualified(node.name, outer)] = node
            elif isinstance(node, tree.UsingNamespace):
                self.using.append(node.name)
            elif isinstance(node, tree.Variable):
                self.globals.append(node)
                if node.name not in self.global_names or not node.extern:
                    self.global_names[node.name] = node

    def _qualified(self, name: str, outer: str) -> str:
        if not outer or name.startswith(f"{outer}::") or not name:
            return name
        return f"{outer}::{name}"

    def _index_class(self, node: tree.Class, outer: str) -> None:
        name = self._qualified(node.name, outer)
        known = self.classes.get(name)
        if known is None or len(known.fields) + len(known.methods) <= len(node.fields) + len(node.methods):
            self.classes[name] = node
        if node.specialized:  # what the template says for all arguments comes first
            kept = [part for part in node.nested if not self._names_known(part, name)]
            self._index(kept, name)
        else:
            self._index(node.nested, name)

    def _names_known(self, node: tree.Statement, outer: str) -> bool:
        return isinstance(node, tree.Alias) and self._qualified(node.name, outer) in self.aliases

    def _attach_members(self) -> None:
        """Join the members that classes declare with the definitions that stand outside."""
        outside = {
            name: functions
            for name, functions in self.functions.items()
            if "::" in name and self._holds(name.rpartition("::")[0])
        }
        for name, node in self.classes.items():
            members: list[tree.Function] = []
            for method in node.methods:
                definitions = [
                    other
                    for other in outside.get(f"{name}::{last_name(method.name)}", [])
                    if len(other.parameters) == len(method.parameters)
                ]
                if method.body is None and not (method.deleted or method.defaulted):
                    match = _best_definition(method, definitions)
                    if match is not None:
                        members.append(_joined(method, match))
                        continue
                members.append(method)
            declared = {last_name(method.name) for method in node.methods}
            for full, definitions in outside.items():
                scope, _, short = full.rpartition("::")
                if scope == name and short not in declared:
                    members.extend(definitions)
            self._members[name] = members
        for name in outside:
            del self.functions[name]

    def _holds(self, scope: str) -> bool:
        return scope in self.classes

    def add_local(self, node: tree.Statement) -> None:
        """Add a class, enumeration or alias that a function declares; equal names of two functions are one."""
        if id(node) in self._local:
            return
        self._local.add(id(node))
        self._index([node], "")
        if isinstance(node, tree.Class):
            inner = [f"{node.name}::{part.name}" for part in node.nested if isinstance(part, tree.Class)]
            for name in [node.name, *inner]:
                if name in self.classes:
                    self._members[name] = list(self.classes[name].methods)
        self._by_last.clear()
        self._found.clear()
        self._hidden.clear()
        self._types.clear()
        self._class_cache.clear()

    def members_of(self, name: str, node: tree.Class) -> list[tree.Function]:
        """Return the methods of a class, those defined outside it included."""
        return self._members.get(name, node.methods)

    def bodies(self) -> list[tree.Function]:
        """Return the functions and methods that have bodies."""
        found = [each for functions in self.functions.values() for each in functions if each.body is not None]
        for name, node in self.classes.items():
            found.extend(method for method in self.members_of(name, node) if method.body is not None)
        return found

    def functions_as_values(self) -> set[str]:
        """Return the last names that stand in the unit's own file, but as what is called: in tables, as arguments."""
        own = self.unit.file
        roots: list[object] = [variable for variable in self.globals if variable.span.file == own]
        for function in self.bodies():
            if function.span.file == own:
                roots += [function.body, *(given for _, given, _ in function.initializers)]
        called: set[int] = set()
        named: list[tree.Name] = []
        for node in nodes(roots):
            if isinstance(node, tree.Call | tree.Launch):
                called.add(id(node.callee))
            elif isinstance(node, tree.Name):
                named.append(node)
        return {last_name(node.name) for node in named if id(node) not in called}

    def lines(self, file: str) -> list[str]:
        """Return the lines of a file that was read."""
        if file not in self._lines:
            self._lines[file] = self.unit.files.get(file, "").split("\n")
        return self._lines[file]

    # -- look-up -----------------------------------------------------------------------------------

    def find(self, table: dict[str, Found], name: str, context: Context) -> tuple[str, Found] | None:
        """Find a declaration as C++ would: the class, the namespaces outwards, `using`, then by last name alone."""
        cls = context.cls
        key = (id(table), name, context.namespace, cls.name if cls is not None else "")
        if key not in self._found:
            self._found[key] = self._find(table, name, context)
        found: tuple[str, Found] | None = self._found[key]
        return found

    def _find(self, table: dict[str, Found], name: str, context: Context) -> tuple[str, Found] | None:
        return self._find_visible(table, name, context) or self._find_by_last(table, name)

    def _find_visible(self, table: dict[str, Found], name: str, context: Context) -> tuple[str, Found] | None:
        if name.startswith("::"):
            name = name[2:]
        if context.cls is not None:
            for cls in context.cls.lineage():
                scope = cls.name
                while scope:
                    key = f"{scope}::{name}"
                    if key in table:
                        return key, table[key]
                    scope = scope.rpartition("::")[0]
        scope = context.namespace
        while scope:
            key = f"{scope}::{name}"
            if key in table:
                return key, table[key]
            scope = scope.rpartition("::")[0]
        if name in table:
            return name, table[name]
        for used in self.using:
            key = used if last_name(used) == name else f"{used}::{name}"
            if key in table:
                return key, table[key]
        return self._find_renamed(table, name, context)

    def _find_renamed(self, table: dict[str, Found], name: str, context: Context) -> tuple[str, Found] | None:
        """Find what is named by another name of its namespace or class: `namespace io = company::io; io::read`."""
        namespace = context.namespace
        for _ in range(DEEPEST_ALIAS):
            renamed = self._renamed(name, namespace)
            if renamed is None:
                return None
            name, namespace = renamed
            for key in (name, f"{namespace}::{name}"):
                if key in table:
                    return key, table[key]
        return None

    def _renamed(self, name: str, namespace: str) -> tuple[str, str] | None:
        """Put what an alias stands for in its place in a qualified name; return that, and the alias's namespace."""
        parts = name.split("::")
        for length in range(1, len(parts)):
            scope, outer = "::".join(parts[:length]), namespace
            while outer and f"{outer}::{scope}" not in self.aliases:
                outer = outer.rpartition("::")[0]
            key = f"{outer}::{scope}" if outer else scope
            alias = self.aliases.get(key)
            if alias is not None and not alias.type.pointers and alias.type.name != scope:
                return "::".join([canonical_name(alias.type.name), *parts[length:]]), key.rpartition("::")[0]
        return None

    def _find_by_last(self, table: dict[str, Found], name: str) -> tuple[str, Found] | None:
        index = self._by_last.get(id(table))
        if index is None:
            index = {}
            for key in table:
                index.setdefault(last_name(key), []).append(key)
            self._by_last[id(table)] = index
        if name.startswith("std::"):
            return None
        candidates = [key for key in index.get(last_name(name), []) if key.endswith(name)]
        if len(candidates) == 1 and ("::" in name or table is not self.enumerators):
            return candidates[0], table[candidates[0]]
        return None

    def find_functions(self, name: str, context: Context) -> list[tree.Function]:
        """Return the overloads that a free function's name means, definitions first; empty if none is visible."""
        found = self.find(self.functions, name, context)
        if found is None:
            return []
        return sorted(found[1], key=lambda function: function.body is None)

    # -- types -------------------------------------------------------------------------------------

    def resolve(
        self,
        type: tree.Type,
        context: Context,
        evaluate: Callable[[tree.Expression], Any] | None = None,
        depth: int = 0,
    ) -> CType:
        """Resolve a type as written in a context. `evaluate` computes template arguments and array dimensions."""
        if type.arguments or type.array or depth or context.bindings:
            return self._resolve(type, context, evaluate, depth)
        cls = context.cls
        scope = cls.name if cls is not None else ""
        key = (type.name, type.pointers, type.reference, type.const, type.function, context.namespace, scope)
        found = self._types.get(key)
        if found is None:
            found = self._types[key] = self._resolve(type, context, evaluate, depth)
        return found

    def _resolve(
        self, type: tree.Type, context: Context, evaluate: Callable[[tree.Expression], Any] | None, depth: int
    ) -> CType:
        name = canonical_name(type.name)
        given = (self._arguments(item, context, evaluate, depth) for item in type.arguments)
        arguments = tuple(argument for each in given for argument in each)
        dimensions = tuple(evaluate(item) if item is not None and evaluate else None for item in type.array)
        base: CType | None = None
        bound = context.bindings.get(name)
        if isinstance(bound, CType):
            base = bound
        elif name not in SCALAR_SIZES and name and depth < DEEPEST_ALIAS:
            alias = self.find(self.aliases, name, context)
            if alias is not None and alias[1].type.name == name and not alias[1].type.pointers:
                alias = None
            if alias is not None and not self._is_hidden(alias[0], name, context):
                base = self._aliased(*alias, arguments, context, evaluate, depth)
            else:
                known = self.find(self.classes, name, context)
                listed = self.find(self.enums, name, context) if known is None else None
                name = known[0] if known is not None else listed[0] if listed is not None else name
        if base is None:
            base = CType(name, arguments)
        return CType(
            base.name,
            base.arguments,
            pointers=base.pointers + type.pointers,
            reference=type.reference or base.reference,
            const=base.const or type.const,
            # A pointer to an array is a pointer to its elements here, not an array of pointers.
            array=dimensions if type.pointers else dimensions + base.array,
            function=base.function or type.function,
        )

    def _is_hidden(self, alias: str, name: str, context: Context) -> bool:
        """Tell whether a name means a class, and not the alias: that is of another namespace, or further out."""
        cls = context.cls
        key = (alias, name, context.namespace, cls.name if cls is not None else "")
        if key not in self._hidden:
            known = self._find_visible(self.classes, name, context)
            self._hidden[key] = known is not None and (
                self._find_visible(self.aliases, name, context) is None
                or len(known[0].rpartition("::")[0]) > len(alias.rpartition("::")[0])
            )
        return self._hidden[key]

    def _arguments(
        self,
        item: tree.Type | tree.Expression,
        context: Context,
        evaluate: Callable[[tree.Expression], Any] | None,
        depth: int,
    ) -> Sequence[Any]:
        """Return the argument that is written, or those that a pack stands for: `std::tuple<Stages...>`."""
        if isinstance(item, tree.Unary) and item.operator == "...":
            item = item.operand
            bound = context.bindings.get(item.name) if isinstance(item, tree.Name) else None
            if isinstance(bound, TypePack):
                return bound
        return (self._argument(item, context, evaluate, depth),)

    def _argument(
        self,
        item: tree.Type | tree.Expression,
        context: Context,
        evaluate: Callable[[tree.Expression], Any] | None,
        depth: int,
    ) -> Any:
        if isinstance(item, tree.Type):
            if not item.arguments and not item.pointers and item.name in context.bindings:
                bound = context.bindings[item.name]
                if not isinstance(bound, CType):
                    return bound
            named = self._constant_named(item, context) if evaluate else None
            if named is not None and evaluate is not None:
                return evaluate(tree.Name(named, item.name))
            return self.resolve(item, context, evaluate, depth + 1)
        if isinstance(item, tree.Name) and item.name in context.bindings:
            return context.bindings[item.name]
        if isinstance(item, tree.Name) and (
            self.find(self.classes, item.name, context) is not None
            or self.find(self.aliases, item.name, context) is not None
        ):
            return self.resolve(tree.Type(item.name, list(item.template_arguments)), context, evaluate, depth + 1)
        return evaluate(item) if evaluate else None

    def _constant_named(self, item: tree.Type, context: Context) -> tree.Span | None:
        """Return where the variable or enumeration stands that a template argument names.

        Alone, `kSlots` is read as a type.
        """
        if item.arguments or item.pointers or item.array or item.function or item.name in SCALAR_SIZES:
            return None
        types: tuple[dict[str, Any], ...] = (self.classes, self.aliases, self.enums)
        if any(self.find(table, item.name, context) is not None for table in types):
            return None
        local = context.scope.find(item.name) if isinstance(context, Frame) else None
        if isinstance(local, Cell) and local.span is not None:
            return local.span
        for cls in context.cls.lineage() if context.cls is not None else ():
            for field in cls.node.fields:
                if field.name == item.name and field.static:
                    return field.span
        variable = self.find(self.global_names, item.name, context)
        if variable is not None:
            return variable[1].span
        listed = self.find(self.enumerators, item.name, context)
        return None if listed is None else listed[1][0].span

    def _aliased(
        self,
        name: str,
        alias: tree.Alias,
        arguments: tuple[Any, ...],
        context: Context,
        evaluate: Callable[[tree.Expression], Any] | None,
        depth: int,
    ) -> CType:
        bindings = dict(context.bindings)
        bindings.update(zip((parameter.name for parameter in alias.templates), arguments, strict=False))
        inner = PlainContext(bindings, name.rpartition("::")[0] or context.namespace, context.cls)
        return self.resolve(alias.type, inner, evaluate, depth + 1)

    def class_of(self, type: CType, context: Context | None = None) -> ClassInfo | None:
        """Return the class of a type, instantiated with the type's template arguments; None if it is not visible."""
        if type.name in SCALAR_SIZES:
            return None
        key = (type.name, type.arguments)
        try:
            if key in self._class_cache:
                return self._class_cache[key]
        except TypeError:  # an argument that cannot be hashed
            return None
        node = self.classes.get(type.name)
        if node is None:
            self._class_cache[key] = None
            return None
        bindings: dict[str, Any] = {}
        if context is not None and context.cls is not None and type.name.startswith(f"{context.cls.name}::"):
            bindings.update(context.bindings)
        for position, parameter in enumerate(node.templates):
            if parameter.pack:
                bindings[parameter.name] = TypePack(type.arguments[position:])
            elif position < len(type.arguments):
                bindings[parameter.name] = type.arguments[position]
        info = ClassInfo(type.name, node, type.arguments, bindings, {})
        for method in self._members.get(type.name, node.methods):
            short = "" if method.constructor else "~" if method.destructor else last_name(method.name)
            info.methods.setdefault(short, []).append(method)
        self._class_cache[key] = info
        self._resolving.append(type.name)
        for base in [] if info.has_pack_of_bases else node.bases:
            resolved = self.resolve(base, info.context())
            if resolved.name in self._resolving:  # a class cannot derive from itself
                continue
            parent = self.class_of(resolved)
            if parent is not None:
                info.bases.append(parent)
            elif resolved.name.startswith("std::"):
                info.library_bases.append(resolved)
            else:
                info.unknown_bases.append(resolved)
        self._resolving.pop()
        return info


def _best_definition(method: tree.Function, definitions: list[tree.Function]) -> tree.Function | None:
    with_body = [other for other in definitions if other.body is not None or other.defaulted]
    for other in with_body:
        if _signature(other) == _signature(method):
            return other
    return with_body[0] if with_body else None


def _signature(function: tree.Function) -> list[tuple[str, int]]:
    return [(parameter.type.name, parameter.type.pointers) for parameter in function.parameters]


def _give_defaults(functions: list[tree.Function]) -> None:
    """Give definitions the default arguments that only declarations before them have."""
    declared = [each for each in functions if each.body is None and any(p.default for p in each.parameters)]
    for position, function in enumerate(functions if declared else ()):
        if function.body is not None:
            for declaration in declared:
                if _signature(declaration) == _signature(function):
                    functions[position] = _joined(declaration, functions[position])


def _joined(declaration: tree.Function, definition: tree.Function) -> tree.Function:
    """Return the definition with what only the declaration says: default arguments, `virtual`, `static`."""
    parameters = [
        replace(inner, default=inner.default or outer.default)
        for outer, inner in zip(declaration.parameters, definition.parameters, strict=False)
    ]
    return replace(
        definition,
        name=declaration.name,
        parameters=parameters,
        virtual=declaration.virtual or definition.virtual,
        static=declaration.static,
        constructor=declaration.constructor,
        destructor=declaration.destructor,
    )

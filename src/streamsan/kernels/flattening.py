"""A kernel with its structures taken apart, so that whoever follows pointers meets none.

A parameter `View v` becomes parameters `v.in`, `v.out`; `v.out[i]` uses the second. Methods and functions that take
such objects are put in place where they end in one value to return, else called in a copy that takes the fields. A
local object is one variable for each field. Where an object goes that cannot be followed, its pointers go to a function
that nobody knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.named_types import NamedTypes
from streamsan.kernels.flat_expressions import FRESH, FlatExpressions, changed_names, plain
from streamsan.kernels.held_objects import (
    MOST_LEAVES,
    Leaf,
    Object,
    Part,
    Row,
    element,
    held_by,
    somewhere,
    taken_apart,
    unfollowed,
)
from streamsan.kernels.unit_classes import ClassType, Field, UnitClasses

_NOWHERE: Final = tree.Span("", 0, 0, 0, 0)
Bound = Mapping[str, tree.Type | tree.Expression]


class FlatKernel(Struct, frozen=True):
    """A kernel without structures, and the functions that it calls."""

    function: tree.Function
    functions: dict[str, list[tree.Function]]


class Flattening:
    """That of a unit's kernels."""

    def __init__(self, unit: tree.Unit) -> None:
        self.unit = unit
        self.classes = UnitClasses(unit)
        self.functions = {
            name: [self._with_types(one) for one in functions]
            for name, functions in unit.functions_with_bodies().items()
        }
        self.macros = unit.macros
        self._any = any(node.fields or node.methods for node in self.classes.types.classes.values())
        self._copies: dict[tuple[Any, ...], str] = {}
        self.fresh = 0

    def kernel(self, function: tree.Function, bound: Bound) -> FlatKernel:
        """Return a kernel without structures. `bound`: what its template parameters are, where that is known."""
        is_plain = not self._any and not self.classes.types.has_aliases
        if function.body is not None and not (is_plain and not any(one.type.arguments for one in function.parameters)):
            types = self.classes.types.with_arguments(bound)
            function = _Body(self, types, None, 0).whole(function, [None] * len(function.parameters))
        return FlatKernel(function, self.functions)

    def _with_types(self, function: tree.Function) -> tree.Function:
        """Return a function whose parameters have types that tell pointers and textures from numbers."""
        types = self.classes.types
        if not types.has_aliases:
            return function
        found = [replace(one, type=types.resolved(one.type)) for one in function.parameters]
        return replace(function, parameters=found) if found != function.parameters else function

    def copy_of(
        self, function: tree.Function, this: Object | None, given: list[Part], types: NamedTypes, depth: int
    ) -> str:
        """Return the name of a copy of a function that takes the fields of objects it is given."""
        shapes = [one.cls.key if isinstance(one, Object) else "" for one in given]
        key = (id(function), this.cls.key if this is not None else None, *shapes)
        name = self._copies.get(key)
        if name is None:
            name = self._copies[key] = f"{function.name.rpartition('::')[2]}{FRESH}{len(self._copies)}"
            body = _Body(self, types, this.cls if this is not None else None, depth + 1)
            classes = [one.cls if isinstance(one, Object) else None for one in given]
            classes += [None] * (len(function.parameters) - len(classes))
            self.functions[name] = [body.whole(replace(function, name=name), classes)]
        return name


class _Body(FlatExpressions):
    """The body of one function."""

    def whole(self, function: tree.Function, classes: list[ClassType | None]) -> tree.Function:
        """Return a function whose objects are taken apart; `classes`: of what it is given, where a caller knows."""
        parameters: list[tree.Parameter] = []
        by_reference: set[str] = set()
        if self.cls is not None:
            self.this = self._taken("this", self.cls, parameters)
            by_reference.update(one.name for one in parameters)
        for parameter, given in zip(function.parameters, classes, strict=False):
            cls = given
            if cls is None and not (parameter.type.reference and function.kernel) and not parameter.pack:
                bare = replace(parameter.type, reference="", pointers=parameter.type.pointers)
                cls = self._class_of(bare, function) if parameter.name else None
            array = None if cls is not None else self._array(parameter)
            if array is not None:
                self.scopes[-1][parameter.name] = held_by(array, parameter.name, self._parameters(parameters))
                continue
            if cls is None:
                parameters.append(replace(parameter, type=self.types.resolved(parameter.type)))
                self.scopes[-1][parameter.name] = None
                continue
            first = len(parameters)
            self.scopes[-1][parameter.name] = self._taken(parameter.name, cls, parameters)
            if parameter.type.reference or parameter.type.pointers:
                by_reference.update(one.name for one in parameters[first:])
        assert function.body is not None
        body = self.block(function.body)
        changed = changed_names(body) & by_reference
        parameters = [
            replace(one, type=replace(one.type, reference="&")) if one.name in changed else one for one in parameters
        ]
        return replace(function, parameters=parameters, body=body)

    def _class_of(self, type: tree.Type, function: tree.Function) -> ClassType | None:
        """Return the class of a parameter whose fields are followed."""
        classes = self.flattening.classes
        found = classes.class_of(type, self.types)
        # What a launch gives by value are numbers that are known there: `g.width` of a grid's description.
        return classes.numbers(type, self.types) if found is None and function.kernel else found

    def _array(self, parameter: tree.Parameter) -> Field | None:
        """Return a parameter as an array of pointers by value (`std::array<float*, 4>`); None: it is none."""
        if parameter.type.reference or parameter.type.array or parameter.pack or not parameter.name:
            return None
        found = self.flattening.classes.field(parameter.name, parameter.type, self.types)
        return found if found.length and found.leads else None

    def _taken(self, name: str, cls: ClassType, parameters: list[tree.Parameter]) -> Object:
        return taken_apart(cls, name, self._parameters(parameters))

    def _parameters(self, parameters: list[tree.Parameter]) -> Leaf:
        """Return what makes a parameter of each field."""

        def leaf(path: str, field: Field) -> tree.Expression:
            if len(parameters) < MOST_LEAVES:
                parameters.append(tree.Parameter(path, field.type))
            return tree.Name(_NOWHERE, path)

        return leaf

    # -- statements ------------------------------------------------------------------------------------------------

    def block(self, node: tree.Block) -> tree.Block:
        self.scopes.append({})
        found = [made for statement in node.body for made in self.statements(statement)]
        self.scopes.pop()
        return tree.Block(node.span, found)

    def statements(self, node: tree.Statement) -> list[tree.Statement]:
        if isinstance(node, tree.Variable):
            return self._variable(node)
        if isinstance(node, tree.UnparsedStatement):
            lost = self.mentioned(node.text, node.span)
            return [node] if lost is None else [tree.ExpressionStatement(node.span, lost), node]
        return [self.statement(node)]

    def statement(self, node: tree.Statement) -> tree.Statement:
        if isinstance(node, tree.Block):
            return self.block(node)
        if isinstance(node, tree.RangeFor):
            return self._range(node)
        if isinstance(node, tree.Variable | tree.UnparsedStatement):
            made = self.statements(node)
            return made[0] if len(made) == 1 else tree.Block(node.span, made)
        if isinstance(node, tree.For):
            self.scopes.append({})
            init = [made for part in node.init for made in self.statements(part)]
            condition = None if node.condition is None else self.expression(node.condition)
            step = None if node.step is None else self.expression(node.step)
            found = tree.For(node.span, init, condition, step, self.statement(node.body))
            self.scopes.pop()
            return found
        self.scopes.append({})
        made_node: tree.Statement = self.rebuilt(node)
        self.scopes.pop()
        return made_node

    def _range(self, node: tree.RangeFor) -> tree.Statement:
        held = self.part(node.range)
        self.scopes.append({})
        begin: Part | None = None
        if isinstance(held, Object):
            begin = self.method(held, "begin", [], node.span)
        elif isinstance(held, Row):
            begin = tree.Unary(node.span, "&", plain(element(held, somewhere(node.span)), node.span))
        if begin is None or isinstance(begin, Object | Row):
            given = plain(held, node.span)
            variable = self._variable(node.variable)[0]
            assert isinstance(variable, tree.Variable)
            found: tree.Statement = tree.RangeFor(node.span, variable, given, self.statement(node.body))
        else:
            first = tree.Index(node.span, begin, somewhere(node.span))
            inside = [*self._variable(replace(node.variable, initializer=first)), self.statement(node.body)]
            found = tree.While(node.span, somewhere(node.span), tree.Block(node.span, inside))
        self.scopes.pop()
        return found

    def _variable(self, node: tree.Variable) -> list[tree.Statement]:
        given = self._given(node)
        alias = bool(node.type.reference or node.type.pointers)
        if node.bindings and isinstance(given, Object) and len(given.fields) == len(node.bindings):
            for name, part in zip(node.bindings, given.fields.values(), strict=True):
                self.scopes[-1][name] = part
            return []
        if isinstance(given, Object) and alias and node.name:
            self.scopes[-1][node.name] = given
            return []
        cls = given.cls if isinstance(given, Object) else None
        if cls is None and not alias and node.name and not node.type.array and not node.extern:
            cls = self.flattening.classes.class_of(node.type, self.types)
        if cls is not None and node.name and not node.static:
            return self._local(node, cls, given)
        initializer = None if given is None else plain(given, node.span)
        if given is None and node.initializer is not None:
            initializer = self.expression(node.initializer)
        arguments = None if node.arguments is None or given is not None else self.plain_list(node.arguments)
        for name in node.bindings:
            self.scopes[-1][name] = None
        type = self.types.resolved(node.type)
        return [replace(node, name=self.declared(node.name), type=type, initializer=initializer, arguments=arguments)]

    def _given(self, node: tree.Variable) -> Part | None:
        """Return what a variable is made a copy of, or bound to; None: nothing, or a list."""
        if isinstance(node.initializer, tree.InitList) and node.initializer.type is None:
            items = node.initializer.items
            given = self.part(items[0]) if len(items) == 1 else None
            return given if isinstance(given, Object) else None
        if node.initializer is not None:
            return self.part(node.initializer)
        if node.arguments and len(node.arguments) == 1:
            given = self.part(node.arguments[0])
            return given if isinstance(given, Object) else None
        return None

    def _local(self, node: tree.Variable, cls: ClassType, given: Part | None) -> list[tree.Statement]:
        """Return a local object: one variable for each field."""
        made: list[tree.Variable] = []
        name = self.declared(node.name)
        device = node.device

        def leaf(path: str, field: Field) -> tree.Expression:
            made.append(tree.Variable(node.span, path, replace(field.type, const=field.type.const), device=device))
            return tree.Name(node.span, path)

        found = taken_apart(cls, name, leaf)
        if isinstance(given, Object):
            value: Object | None = given
            lost: list[Part] = []
        else:
            parts = node.initializer.items if isinstance(node.initializer, tree.InitList) else node.arguments
            items = [self.part(one) for one in parts or ()]
            names = node.initializer.names if isinstance(node.initializer, tree.InitList) else []
            value = self.constructed(cls, items, names)
            lost = items if value is None else []
            if given is not None:
                lost = [given]
        self.scopes[-1][node.name] = found
        if value is not None:
            for variable, source in _pairs(found, value, made):
                variable.initializer = source
        after = [tree.ExpressionStatement(node.span, unfollowed(node.span, lost))] if lost else []
        return [*made, *after]


def _pairs(target: Part, source: Part, made: list[tree.Variable]) -> list[tuple[tree.Variable, tree.Expression]]:
    """Return the variables of a local object with what each is given."""
    if isinstance(target, Object) and isinstance(source, Object):
        both = [(inner, source.fields[name]) for name, inner in target.fields.items() if name in source.fields]
    elif isinstance(target, Row) and isinstance(source, Row):
        both = list(zip(target.items, source.items, strict=False))
    elif isinstance(target, tree.Name) and isinstance(source, tree.Expression):
        return [(variable, source) for variable in made if variable.name == target.name]
    else:
        return []
    return [pair for one, other in both for pair in _pairs(one, other, made)]

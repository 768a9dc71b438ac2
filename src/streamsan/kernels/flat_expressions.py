"""The expressions of a kernel without objects: fields by their paths, methods and constructors put in place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Final, Protocol, Self

from msgspec.structs import replace

from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.named_types import NamedTypes, visible
from streamsan.cuda_syntax.walk import nodes
from streamsan.kernels.cuda_images import image_access
from streamsan.kernels.held_objects import Object, Part, Row, element, leaves, merged, somewhere, unfollowed
from streamsan.kernels.unit_classes import ClassType, UnitClasses
from streamsan.patterns.late_pattern import late_pattern

_WORD: Final = late_pattern(r"[^\W\d]\w*")
_DEEPEST_CALL: Final = 6
_SAME: Final = frozenset(("std::move", "std::forward", "std::as_const", "std::ref", "cuda::std::move"))
_STEPS: Final = ("++", "--", "post++", "post--")
FRESH: Final = "'"
"""marks names of locals of a function that was put in place"""


class Whole(Protocol):
    """The kernels of a unit, of which this is one."""

    unit: tree.Unit
    classes: UnitClasses
    macros: dict[str, tree.Macro]
    fresh: int

    def copy_of(
        self, function: tree.Function, this: Object | None, given: list[Part], types: NamedTypes, depth: int
    ) -> str:
        """Return the name of a copy of a function that takes the fields of objects it is given."""
        ...


class FlatExpressions(ABC):
    """The expressions of one function, or of one put in its caller's place."""

    def __init__(self, whole: Whole, types: NamedTypes, cls: ClassType | None, depth: int) -> None:
        self.flattening = whole
        self.types = types
        self.cls = cls
        self.depth = depth
        self.this: Object | None = None
        self.scopes: list[dict[str, Part | None]] = [{}]
        self.renamed = False
        """Locals get fresh names: the body stands in another one's place."""

    @abstractmethod
    def block(self, node: tree.Block) -> tree.Block:
        """Return a block without objects."""

    @abstractmethod
    def statement(self, node: tree.Statement) -> tree.Statement:
        """Return a statement without objects."""

    @abstractmethod
    def statements(self, node: tree.Statement) -> list[tree.Statement]:
        """Return the statements that a statement is without objects: a variable for each field."""

    def declared(self, name: str) -> str:
        """Return what a local is called from here on."""
        if not self.renamed:
            self.scopes[-1][name] = None
            return name
        self.flattening.fresh += 1
        fresh = f"{name}{FRESH}{self.flattening.fresh}"
        self.scopes[-1][name] = tree.Name(tree.Span("", 0, 0, 0, 0), fresh)
        return fresh

    # -- expressions -----------------------------------------------------------------------------------------------

    def expression(self, node: tree.Expression) -> tree.Expression:
        """Return an expression without objects; one that is an object goes where nobody follows it."""
        return plain(self.part(node), node.span)

    def plain_list(self, given: list[tree.Expression]) -> list[tree.Expression]:
        """Return expressions without objects."""
        return [self.expression(one) for one in given]

    def part(self, node: tree.Expression) -> Part:
        """Return what an expression is worth: an object taken apart, or an expression without objects."""
        if isinstance(node, tree.Name):
            return self._name(node)
        if isinstance(node, tree.Member):
            return self._member(node)
        if isinstance(node, tree.Index):
            base = self.part(node.base)
            if isinstance(base, Row):
                return element(base, self.expression(node.index))
            if isinstance(base, Object):
                return self._called(base, "operator[]", [self.part(node.index)], node)
            return tree.Index(node.span, base, self.expression(node.index))
        if isinstance(node, tree.Unary):
            held = self.part(node.operand)
            if isinstance(held, Object):
                if node.operator == "*" and held.cls.has_method("operator*") and not self._is_pointer(node.operand):
                    return self._called(held, "operator*", [], node)
                if node.operator in ("*", "&"):
                    return held
            return replace(node, operand=plain(held, node.span))
        if isinstance(node, tree.Assign):
            return self._assign(node)
        if isinstance(node, tree.Cast):
            held = self.part(node.operand)
            if isinstance(held, Object):
                return held
            return replace(node, type=self.types.resolved(node.type), operand=plain(held, node.span))
        if isinstance(node, tree.Conditional):
            then, otherwise = self.part(node.then), self.part(node.otherwise)
            if isinstance(then, Object) and isinstance(otherwise, Object):
                return merged([then, otherwise])
            made = self.expression(node.condition)
            return tree.Conditional(node.span, made, plain(then, node.span), plain(otherwise, node.span))
        if isinstance(node, tree.Call):
            return self._call(node)
        if isinstance(node, tree.InitList):
            return self._init_list(node)
        if isinstance(node, tree.Lambda):
            return self._lambda(node)
        if isinstance(node, tree.SizeOf):
            return node
        if isinstance(node, tree.Unparsed):
            lost = self.mentioned(node.text, node.span)
            return node if lost is None else tree.Binary(node.span, ",", lost, node)
        rebuilt: tree.Expression = self.rebuilt(node)
        return rebuilt

    def rebuilt(self, node: Any) -> Any:
        """Return a node whose parts are without objects."""
        changes = {}
        for name in node.__struct_fields__:
            if name not in ("span", "_lower", "type"):
                changes[name] = self._any(getattr(node, name))
        return replace(node, **changes)

    def _any(self, value: Any) -> Any:
        if isinstance(value, tree.Expression):
            return self.expression(value)
        if isinstance(value, tree.Statement):
            return self.statement(value)
        if isinstance(value, list):
            return [self._any(one) for one in value]
        return value

    def _found(self, name: str) -> Part | bool | None:
        """Return what a name stands for; False where it is not declared here."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return False

    def _name(self, node: tree.Name) -> Part:
        found = self._found(node.name)
        if found is False and self.this is not None:
            if node.name == "this":
                return self.this
            found = self.this.fields.get(node.name, False)
        if isinstance(found, tree.Expression | Object | Row):
            return found
        macro = self.flattening.macros.get(node.name) if found is False else None
        lost = None if macro is None else self.mentioned(macro.text, node.span)
        return node if lost is None else tree.Binary(node.span, ",", lost, node)

    def _member(self, node: tree.Member) -> Part:
        held = self.part(node.object)
        if isinstance(held, Object):
            found = held.fields.get(node.member)
            if found is not None:
                return found
            if node.arrow and held.cls.has_method("operator->") and not self._is_pointer(node.object):
                return replace(node, object=plain(self._called(held, "operator->", [], node), node.span))
            if any(field.name == node.member for field in held.cls.fields):
                return somewhere(node.span)  # a field that was never given anything
        return replace(node, object=plain(held, node.span))

    def _is_pointer(self, node: tree.Expression) -> bool:
        """Tell whether an expression is a pointer to an object, not the object."""
        return (isinstance(node, tree.Name) and node.name == "this") or (
            isinstance(node, tree.Unary) and node.operator == "&"
        )

    def _assign(self, node: tree.Assign) -> Part:
        target, value = self.part(node.target), self.part(node.value)
        if isinstance(target, Object):
            if isinstance(value, tree.InitList):
                value = self.constructed(target.cls, list(value.items), value.names) or value
            if isinstance(value, Object) and node.operator == "=":
                found: tree.Expression = somewhere(node.span)
                for name, part in target.fields.items():
                    source = value.fields.get(name)
                    if source is None:
                        continue
                    if isinstance(part, tree.Expression) and isinstance(source, tree.Expression):
                        one: tree.Expression = tree.Assign(node.span, "=", part, source)
                    else:
                        one = unfollowed(node.span, [part, source])
                    found = tree.Binary(node.span, ",", found, one)
                return found
            return unfollowed(node.span, [target, value])
        if isinstance(target, Row):
            return unfollowed(node.span, [target, value])
        return tree.Assign(node.span, node.operator, target, plain(value, node.span))

    def _init_list(self, node: tree.InitList) -> Part:
        items = [self.part(one) for one in node.items]
        cls = None if node.type is None else self.flattening.classes.class_of(node.type, self.types)
        if cls is not None:
            if len(items) == 1 and isinstance(items[0], Object) and items[0].cls.key == cls.key:
                return items[0]
            made = self.constructed(cls, items, node.names)
            return unfollowed(node.span, items) if made is None else made
        return tree.InitList(node.span, node.type, [plain(one, node.span) for one in items], node.names)

    def _lambda(self, node: tree.Lambda) -> Part:
        captures = [(name, ref, None if one is None else self.expression(one)) for name, ref, one in node.captures]
        self.scopes.append(dict.fromkeys((one.name for one in node.parameters), None))
        self.scopes[-1].update({name: None for name, _, one in node.captures if one is not None})
        made = tree.Lambda(node.span, node.default, captures, node.parameters, self.block(node.body))
        self.scopes.pop()
        return made

    def mentioned(self, text: str, span: tree.Span) -> tree.Expression | None:
        """Return what lets all objects go that a text names, which nobody can read."""
        words = set(_WORD.findall(text))
        every = text == "..." or text.startswith(("//", "/*"))
        names = {name for scope in self.scopes for name in scope}
        lost = [found for name in names if (every or name in words) and isinstance(found := self._found(name), Object)]
        if self.this is not None and (every or "this" in words or words & set(self.this.fields)):
            lost.append(self.this)
        return unfollowed(span, list(lost)) if lost else None

    # -- calls -----------------------------------------------------------------------------------------------------

    def _call(self, node: tree.Call) -> Part:
        callee = node.callee
        if isinstance(callee, tree.Member):
            held = self.part(callee.object)
            arguments = [self.part(one) for one in node.arguments]
            if isinstance(held, Object):
                inner = held.fields.get(callee.member)
                if isinstance(inner, Object):
                    return self._called(inner, "operator()", arguments, node)
                return self._called(held, callee.member, arguments, node)
            made = replace(callee, object=plain(held, node.span))
            return replace(node, callee=made, arguments=[plain(one, node.span) for one in arguments])
        arguments = [self.part(one) for one in node.arguments]
        if not isinstance(callee, tree.Name):
            given = [plain(one, node.span) for one in arguments]
            return replace(node, callee=self.expression(callee), arguments=given)
        found = self._found(callee.name)
        if isinstance(found, Object):
            return self._called(found, "operator()", arguments, node)
        name = callee.name.rpartition("::")[2]
        if found is False and self.this is not None and self.this.cls.has_method(name):
            return self._called(self.this, name, arguments, node)
        if callee.name in _SAME and len(arguments) == 1:
            return arguments[0]
        macro = self.flattening.macros.get(callee.name) if found is False else None
        plain_call = replace(node, arguments=[plain(one, node.span) for one in arguments])
        if macro is not None:
            lost = self.mentioned(macro.text, node.span)
            return plain_call if lost is None else tree.Binary(node.span, ",", lost, plain_call)
        cls = self.flattening.classes.class_of(tree.Type(callee.name, list(callee.template_arguments)), self.types)
        if cls is not None and found is False:
            if len(arguments) == 1 and isinstance(arguments[0], Object) and arguments[0].cls.key == cls.key:
                return arguments[0]
            return self.constructed(cls, arguments, []) or unfollowed(node.span, arguments)
        made_part = self._static_call(callee.name, arguments, node.span)
        if made_part is not None:
            return made_part
        if not any(isinstance(one, Object) for one in arguments):
            return plain_call
        functions = self.flattening.unit.functions_with_bodies().get(name, [])
        taking = [one for one in functions if len(one.parameters) >= len(arguments) and not one.kernel]
        if len(taking) > 1:
            taking = [one for one in taking if self._fits(one, arguments)]
        if len(taking) != 1:
            return plain_call
        made_part = self._applied(taking[0], None, arguments, node.span, self.flattening.classes.types)
        return plain_call if made_part is None else made_part

    def _static_call(self, name: str, arguments: list[Part], span: tree.Span) -> Part | None:
        """Return a call of a static method (`Policy::apply(p, i)`); None: it is none whose body is known."""
        scope, _, last = name.rpartition("::")
        of = self.types.resolved(tree.Type(scope))
        cls = visible(self.types.classes, of.name) if scope and not of.pointers else None
        found = [one for one in cls.methods if one.static and one.name.rpartition("::")[2] == last] if cls else []
        if cls is None or len(found) != 1 or len(found[0].parameters) != len(arguments):
            return None
        return self._applied(found[0], None, arguments, span, self.types.inside(cls, of))

    def _fits(self, function: tree.Function, arguments: list[Part]) -> bool:
        """Tell whether a function declares the classes of the objects that it is given."""
        for parameter, given in zip(function.parameters, arguments, strict=False):
            bare = replace(parameter.type, reference="", pointers=0)
            cls = self.flattening.classes.class_of(bare, self.flattening.classes.types)
            if isinstance(given, Object) != (cls is not None):
                return False
            if isinstance(given, Object) and cls is not None and cls.node.name != given.cls.node.name:
                return False
        return True

    def _called(self, held: Object, name: str, arguments: list[Part], node: tree.Expression) -> Part:
        made = self.method(held, name, arguments, node.span)
        return unfollowed(node.span, [held, *arguments]) if made is None else made

    def method(self, held: Object, name: str, arguments: list[Part], span: tree.Span) -> Part | None:
        """Return a call of an object's method; None where nobody knows which body that is."""
        taking = [one for one in held.cls.methods(name) if len(one.parameters) >= len(arguments)]
        if len(taking) == 2 and taking[0].returns.const != taking[1].returns.const:
            taking = [one for one in taking if not one.returns.const]  # `at` for const objects, and for others
        if len(taking) == 2 and len({len(one.parameters) for one in taking}) == 2:
            taking = [one for one in taking if len(one.parameters) == len(arguments)]
        if len(taking) != 1:
            return None
        return self._applied(taking[0], held, arguments, span, held.cls.types)

    def _callee(self, types: NamedTypes, cls: ClassType | None, this: Object | None = None) -> Self:
        inner = type(self)(self.flattening, types, cls, self.depth + 1)
        inner.this = this
        inner.renamed = True
        return inner

    def _applied(
        self, function: tree.Function, this: Object | None, arguments: list[Part], span: tree.Span, types: NamedTypes
    ) -> Part | None:
        """Return a call of a function whose body is known: in place, or of a copy; None: it is too deep."""
        if self.depth >= _DEEPEST_CALL or function.body is None:
            return None
        statements = function.body.body
        last = statements[-1] if statements else None
        if isinstance(last, tree.Return) and last.value is not None and len(function.parameters) == len(arguments):
            inner = self._callee(types, this.cls if this is not None else None, this)
            if len(statements) == 1 and _substitutable(function, arguments):
                for parameter, given in zip(function.parameters, arguments, strict=True):
                    inner.scopes[-1][parameter.name] = given
                return inner.part(last.value)
            if not any(isinstance(one, tree.Return | tree.Goto) for one in nodes(statements[:-1])):
                before = inner.bound(function, arguments, span)
                body = [made for one in statements[:-1] for made in inner.statements(one)]
                result = inner.part(last.value)
                if not isinstance(result, Object | Row):
                    end = tree.ExpressionStatement(span, result)
                    return tree.StatementExpression(span, tree.Block(span, [*before, *body, end]))
        name = self.flattening.copy_of(function, this, arguments, types, self.depth)
        held = [] if this is None else list(leaves(this))
        given_leaves = [leaf for one in arguments for leaf in leaves(one)]
        call = tree.Call(span, tree.Name(span, name), [*held, *given_leaves])
        if any(isinstance(one, Row) for one in arguments):
            return None
        return call

    def bound(self, function: tree.Function, arguments: list[Part], span: tree.Span) -> list[tree.Statement]:
        """Bind parameters to what they are given, by variables of their own where that is no object."""
        found: list[tree.Statement] = []
        for parameter, given in zip(function.parameters, arguments, strict=True):
            if isinstance(given, Object | Row):
                self.scopes[-1][parameter.name] = given
            elif parameter.name:
                found.append(
                    tree.Variable(span, self.declared(parameter.name), self.types.resolved(parameter.type), given)
                )
        return found

    def constructed(self, cls: ClassType, items: list[Part], names: list[str | None]) -> Object | None:
        """Return an object made of a list or a constructor's arguments; None where that cannot be followed."""
        if not cls.constructors:
            if cls.node.bases:
                return None
            found: dict[str, Part] = {}
            for position, item in enumerate(items):
                name = names[position] if position < len(names) else None
                if name is None and position >= len(cls.fields):
                    return None
                found[name or cls.fields[position].name] = item
            return self._filled(cls, found)
        for constructor in cls.constructors:
            if len(constructor.parameters) == len(items) and constructor.body is not None:
                if constructor.body.body or any(len(given) > 1 for _, given, _ in constructor.initializers):
                    return None
                inner = self._callee(cls.types, cls)
                for parameter, item in zip(constructor.parameters, items, strict=True):
                    inner.scopes[-1][parameter.name] = item
                found = {}
                for member, given, _ in constructor.initializers:
                    if len(given) == 1:
                        found[member] = inner.part(given[0])
                return self._filled(cls, found)
        return None

    def _filled(self, cls: ClassType, given: dict[str, Part]) -> Object | None:
        found: dict[str, Part] = {}
        for field in cls.fields:
            part = given.get(field.name)
            if part is None and field.initializer is not None:
                part = self._callee(cls.types, cls).part(field.initializer)
            if isinstance(part, tree.InitList) and field.cls is not None:
                part = self.constructed(field.cls, list(part.items), part.names)
                if part is None:
                    return None
            if part is not None:
                if (field.cls is not None) != isinstance(part, Object) or field.length is not None:
                    if not field.leads:
                        continue
                    return None
                found[field.name] = part
        return Object(cls, found)


def plain(part: Part, span: tree.Span) -> tree.Expression:
    """Return a part as an expression: an object goes where nobody follows it."""
    return unfollowed(span, [part]) if isinstance(part, Object | Row) else part


def _substitutable(function: tree.Function, arguments: list[Part]) -> bool:
    """Tell whether arguments may stand for their parameters: what has an effect happens once."""
    used = [node.name for node in nodes(function.body) if isinstance(node, tree.Name)]
    for parameter, given in zip(function.parameters, arguments, strict=True):
        if isinstance(given, Object | Row):
            continue
        effects = any(
            isinstance(node, tree.Assign | tree.Call | tree.Unparsed | tree.StatementExpression)
            or (isinstance(node, tree.Unary) and node.operator in _STEPS)
            for node in nodes(given)
        )
        if effects and used.count(parameter.name) > 1:
            return False
    return not changed_names(function.body) & {one.name for one in function.parameters if not one.type.reference}


def changed_names(body: object) -> set[str]:
    """Return the names that a body may give another value."""
    found: set[str] = set()
    for node in nodes(body):
        targets: list[Any] = []
        if isinstance(node, tree.Assign):
            targets = [node.target]
        elif isinstance(node, tree.Unary) and node.operator in (*_STEPS, "&"):
            targets = [node.operand]
        elif isinstance(node, tree.Variable) and node.type.reference:
            targets = [node.initializer]
        elif isinstance(node, tree.Call) and not _accesses_image(node.callee):
            targets = node.arguments
        found.update(one.name for one in targets if isinstance(one, tree.Name))
    return found


def _accesses_image(callee: tree.Expression) -> bool:
    return isinstance(callee, tree.Name) and image_access(callee.name.rpartition("::")[2]) is not None

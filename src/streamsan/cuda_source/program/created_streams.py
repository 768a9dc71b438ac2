"""Members and globals that hold streams which the program itself creates: two of them are two streams.

A name is taken for that only where all that the program's text writes to it is seen: calls that create a stream, null,
and what the same member of another object held. Whatever else may be put there (a parameter, another stream, what a
function behind a pointer does) leaves the question open. So does a creation under a condition: without it two members
may both be the default stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from typing import Any

from msgspec import Struct

from streamsan.cuda_source import known_apis
from streamsan.cuda_source.program.index import Program
from streamsan.cuda_source.values.classes import last_name
from streamsan.cuda_source.values.types import SCALAR_SIZES
from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import parts
from streamsan.effects import Effect

STREAM_TYPES = frozenset({"cudaStream_t", "CUstream"})
_MOVES = frozenset({"std::move", "std::exchange", "std::forward"})
_ELEMENT_OF = frozenset({"data", "at", "begin", "back", "front", "get", "emplace_back"})
_KEEPS = frozenset({"resize", "reserve", "clear", "size", "empty", "pop_back", "shrink_to_fit", "swap", "reset"})
_APPENDS = frozenset({"push_back", "emplace_back"})
_STORAGE = frozenset({"malloc", "calloc", "std::make_unique", "make_unique", "alloca"})


Asked = frozenset[str] | None
"""names that all conditions around a node mention; None: there are none"""


class _Write(Enum):
    CREATED = auto()
    CREATED_EACH = auto()
    """by a call for each element"""
    HARMLESS = auto()
    OTHER = auto()


class _Target(Struct, frozen=True):
    """What an expression names: the last name, whether as a member, whether as one element of many."""

    name: str
    member: bool
    each: bool


class CreatedStreams:
    """Answers for one program, of one unit or more."""

    def __init__(self, *programs: Program) -> None:
        self._programs = programs
        """the units of the program"""
        self._writes: dict[str, list[tuple[str, bool, _Write]]] | None = None
        """by last names: the class in whose function something is written, whether as a member of an object, what"""
        self._listed: set[str] = set()
        """classes of which some object is made of a list of values"""

    def are_own(self, cls: str, name: str, of_many: bool) -> bool:
        """Tell whether a member of a class (of none: a global) holds a stream that is its own.

        `of_many`: the elements of an array or container are meant, or members of such elements.
        """
        writes = self._all()
        if last_name(cls) in self._listed or not self._initialised_harmlessly(cls, name):
            return False
        own = [what for owner, member, what in writes.get(name, ()) if self._may_mean(cls, owner, member)]
        if _Write.OTHER in own:
            return False
        if of_many and not self._has_own_copies(cls):
            return _Write.CREATED_EACH in own and _Write.CREATED not in own
        return _Write.CREATED in own or _Write.CREATED_EACH in own

    def _may_mean(self, cls: str, owner: str, member: bool) -> bool:
        """Tell whether a name that a function of a class writes may be the one that is asked for."""
        return member or not cls or owner == cls or owner.startswith(f"{cls}::") or self._derives(owner, cls)

    def _derives(self, owner: str, cls: str) -> bool:
        return any(
            last_name(base.name) == last_name(cls) or self._derives(base.name, cls)
            for node in self._classes(owner)
            for base in node.bases
            if base.name != owner
        )

    def _has_own_copies(self, cls: str) -> bool:
        """Tell whether a class says itself what becomes of its objects: an end of its own, or no copies."""
        methods = (
            method
            for program in self._programs
            if cls in program.classes
            for method in program.members_of(cls, program.classes[cls])
        )
        return any(method.destructor or (method.constructor and method.deleted) for method in methods)

    def _classes(self, name: str) -> list[tree.Class]:
        return [program.classes[name] for program in self._programs if name in program.classes]

    def _initialised_harmlessly(self, cls: str, name: str) -> bool:
        if cls:
            fields = [field for node in self._classes(cls) for field in node.fields]
        else:
            fields = [variable for program in self._programs for variable in program.globals if not variable.extern]
        found = [field for field in fields if last_name(field.name) == name]
        if not found:
            return False
        return all(
            (field.initializer is None or self._value(field.initializer, name, frozenset()) is _Write.HARMLESS)
            and not field.arguments
            for field in found
        )

    # -- one walk over all functions -----------------------------------------------------------------

    def _all(self) -> dict[str, list[tuple[str, bool, _Write]]]:
        if self._writes is None:
            self._writes = {}
            for program in self._programs:
                for function in program.bodies():
                    self._function(function)
        return self._writes

    def _function(self, function: tree.Function) -> None:
        owner = function.name.rpartition("::")[0]
        for name, given, _ in function.initializers:
            for value in given:
                harmless = _is_number(function, value)
                what = _Write.HARMLESS if harmless else self._value(value, name, frozenset())
                self._add(owner, _Target(name, False, False), what)
        if function.body is not None:
            _Walk(self, owner, function).node(function.body, None)

    def _add(self, owner: str, target: _Target, what: _Write) -> None:
        assert self._writes is not None
        if what is _Write.CREATED and target.each:
            what = _Write.CREATED_EACH
        self._writes.setdefault(target.name, []).append((owner, target.member, what))

    def _value(self, value: tree.Expression, name: str, made: frozenset[str]) -> _Write:
        """Say what a value is that is given to a name. `made`: local variables that a creation wrote."""
        while isinstance(value, tree.Cast):
            value = value.operand
        if isinstance(value, tree.InitList):
            parts = [self._value(item, name, made) for item in value.items]
            return _Write.HARMLESS if all(part is _Write.HARMLESS for part in parts) else _Write.OTHER
        if isinstance(value, tree.Literal_ | tree.New):
            return _Write.HARMLESS
        if isinstance(value, tree.Name):
            if value.name in ("nullptr", "NULL"):
                return _Write.HARMLESS
            return _Write.CREATED if value.name in made else _Write.OTHER
        if isinstance(value, tree.Member):
            return _Write.HARMLESS if value.member == name else _Write.OTHER
        if isinstance(value, tree.Call) and isinstance(value.callee, tree.Name):
            if value.callee.name in _STORAGE:
                return _Write.HARMLESS
            if value.callee.name in _MOVES and value.arguments:
                return self._value(value.arguments[0], name, made)
        return _Write.OTHER

    def takes_reference(self, callee: str, position: int) -> bool:
        """Tell whether a function that is visible may write to an argument that is given by its name."""
        named = (each for program in self._programs for each in program.functions.get(last_name(callee), ()))
        for function in named:
            if position < len(function.parameters):
                type = function.parameters[position].type
                if type.reference and not type.const:
                    return True
        return False

    def lists(self, type: str) -> None:
        """Note that an object of a class is made of a list of values."""
        self._listed.add(last_name(type))


class _Walk:
    """Of one function's body."""

    def __init__(self, streams: CreatedStreams, owner: str, function: tree.Function) -> None:
        self._streams = streams
        self._owner = owner
        self._aliases: dict[str, _Target] = {}
        self._locals: set[str] = {parameter.name for parameter in function.parameters}
        self._made: set[str] = set()

    def node(self, node: Any, asked: Asked) -> None:
        """Look at a node and all below it."""
        if isinstance(node, tree.If):
            self._if(node, asked)
            return
        if isinstance(node, tree.Conditional | tree.Switch | tree.Try):
            asked = frozenset()
        elif isinstance(node, tree.RangeFor):
            self._bind(node.variable, node.range, each=True)
            self.node(node.range, asked)
            self.node(node.body, asked)
            return
        elif isinstance(node, tree.Variable):
            self._variable(node)
        elif isinstance(node, tree.Assign):
            self._written(node.target, node.value)
        elif isinstance(node, tree.Unary) and node.operator == "&":
            self._say(self._target(node.operand), _Write.OTHER)
        elif isinstance(node, tree.InitList) and node.type is not None and node.items:
            self._streams.lists(node.type.name)
        elif isinstance(node, tree.Call) and self._call(node, asked):
            return
        for child in parts(node):
            self.node(child, asked)

    def _if(self, node: tree.If, asked: Asked) -> None:
        for part in (node.init, node.condition):
            if part is not None:
                self.node(part, asked)
        names = frozenset(_names(node.condition))
        for branch in (node.then, node.otherwise):
            if branch is not None:
                self.node(branch, names if asked is None else asked & names)

    def _variable(self, node: tree.Variable) -> None:
        if node.type.reference and node.initializer is not None:
            self._bind(node, node.initializer, each=False)
            return
        self._locals.add(node.name)
        if isinstance(node.initializer, tree.InitList) and node.initializer.items:
            self._streams.lists(node.type.name)

    def _bind(self, variable: tree.Variable, to: tree.Expression, each: bool) -> None:
        target = self._target(to)
        if variable.type.reference and target is not None:
            self._aliases[variable.name] = _Target(target.name, target.member, target.each or each)
        else:
            self._locals.add(variable.name)

    def _written(self, target: tree.Expression, value: tree.Expression) -> None:
        found = self._target(target)
        if found is not None:
            self._say(found, self._streams._value(value, found.name, frozenset(self._made)))

    def _call(self, node: tree.Call, asked: Asked) -> bool:
        """Look at a call; True: its first argument, or all of it, was seen to."""
        callee = node.callee
        if isinstance(callee, tree.Member):
            return self._method(callee, node.arguments)
        if not isinstance(callee, tree.Name):
            return False
        api = known_apis.find(last_name(callee.name))
        if api is not None:
            if api.effect is not Effect.STREAM_CREATE or not node.arguments:
                return False
            self._created(node.arguments[0], asked)
            for argument in node.arguments[1:]:
                self.node(argument, asked)
            return True
        if last_name(callee.name) == "swap" and len(node.arguments) == 2:
            one, other = (self._target(each) for each in node.arguments)
            same = one is not None and other is not None and one.name == other.name
            for each in (one, other):
                self._say(each, _Write.HARMLESS if same else _Write.OTHER)
            return True
        for position, argument in enumerate(node.arguments):
            target = self._target(argument)
            if target is not None and self._streams.takes_reference(callee.name, position):
                self._say(target, _Write.OTHER)
        return False

    def _created(self, argument: tree.Expression, asked: Asked) -> None:
        while isinstance(argument, tree.Cast):
            argument = argument.operand
        if isinstance(argument, tree.Unary) and argument.operator == "&":
            argument = argument.operand
            if isinstance(argument, tree.Name) and argument.name in self._locals:
                if asked is None:
                    self._made.add(argument.name)
                return
        target = self._target(argument)
        # A stream that is made where there is none yet is made in any case.
        if target is not None:
            surely = asked is None or target.name in asked
            self._say(target, _Write.CREATED if surely else _Write.OTHER)

    def _method(self, callee: tree.Member, arguments: list[tree.Expression]) -> bool:
        target = self._target(callee.object)
        if target is None or callee.member in _KEEPS or callee.member in _ELEMENT_OF - _APPENDS:
            return False
        if callee.member in _APPENDS:
            for argument in arguments:
                what = self._streams._value(argument, target.name, frozenset(self._made))
                self._say(_Target(target.name, target.member, True), what)
        elif callee.member in ("assign", "insert", "emplace", "operator="):
            self._say(target, _Write.OTHER)
        return False

    def _say(self, target: _Target | None, what: _Write) -> None:
        if target is not None:
            self._streams._add(self._owner, target, what)

    def _target(self, node: tree.Expression) -> _Target | None:
        """Return the member or global that an expression names; None for a local, and for what is no name."""
        if isinstance(node, tree.Name):
            if node.name in self._aliases:
                return self._aliases[node.name]
            return None if node.name in self._locals else _Target(last_name(node.name), False, False)
        if isinstance(node, tree.Member):
            return _Target(node.member, not _is_this(node.object), self._is_of_many(node.object))
        if isinstance(node, tree.Index):
            found = self._target(node.base)
            return None if found is None else _Target(found.name, found.member, True)
        if isinstance(node, tree.Binary) and node.operator == "+":
            found = self._target(node.left)
            return None if found is None else _Target(found.name, found.member, True)
        if isinstance(node, tree.Unary) and node.operator in ("&", "*"):
            return self._target(node.operand)
        if isinstance(node, tree.Cast):
            return self._target(node.operand)
        if isinstance(node, tree.Call) and isinstance(node.callee, tree.Member) and node.callee.member in _ELEMENT_OF:
            found = self._target(node.callee.object)
            return None if found is None else _Target(found.name, found.member, True)
        return None

    def _is_of_many(self, node: tree.Expression) -> bool:
        if isinstance(node, tree.Name):
            return node.name in self._aliases and self._aliases[node.name].each
        if isinstance(node, tree.Index):
            return True
        if isinstance(node, tree.Member):
            return self._is_of_many(node.object)
        return False


def _is_number(function: tree.Function, value: tree.Expression) -> bool:
    """Tell whether a value can be no stream: a container is made of a length by it."""
    if isinstance(value, tree.Binary):
        return True
    if not isinstance(value, tree.Name):
        return False
    types = [parameter.type for parameter in function.parameters if parameter.name == value.name]
    return any(not type.pointers and type.name in SCALAR_SIZES and type.name not in STREAM_TYPES for type in types)


def _is_this(node: tree.Expression) -> bool:
    return isinstance(node, tree.Name) and node.name == "this"


def _names(node: Any) -> Iterator[str]:
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, tree.Name):
            yield last_name(part.name)
        elif isinstance(part, tree.Member):
            yield part.member
        pending.extend(parts(part))

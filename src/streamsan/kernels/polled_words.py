"""Which memory a kernel polls: it reads a word again and again, until other work has written it.

Such a read is volatile, an atomic operation that changes nothing, or one of a function whose text has a word of that,
and it decides whether a loop goes on. Whether a word is volatile is read off the text: the tree does not keep it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Final

from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import nodes
from streamsan.kernels.held_objects import is_path
from streamsan.kernels.pointer_uses import ATOMIC_REFERENCES, ATOMICS, AccessWalk, Functions
from streamsan.kernels.waiting import UnitTexts
from streamsan.patterns.late_pattern import late_pattern

_MOST_CALLS: Final = 4
_VOLATILE = late_pattern(r"\bvolatile\b[^;{}()=,]*?(\w+)\s*(?=[,;)=\[])")
_READS: Final = frozenset(("load", "wait", "test", "compare_exchange_strong", "compare_exchange_weak", "test_and_set"))
"""methods of atomic objects that may decide whether a loop goes on"""
_CHANGE_NOTHING = late_pattern(r"atomic(?:Add|Sub|Or|Xor)(?:_\w+)?")
"""functions that, with 0, only read"""
_EXCHANGES = late_pattern(r"atomicCAS(?:_\w+)?|atomicExch(?:_\w+)?|__nv_atomic_(?:load|compare_exchange)\w*")
_LOADS = late_pattern(r"__ldcv")


def polled_words(
    function: tree.Function, functions: Functions, macros: Container[str], texts: UnitTexts, level: int = 0
) -> dict[str, bool]:
    """Return the names of pointer parameters through which a function polls; below `level` 0 also of references.

    True: always the same word, whichever thread it is. Functions that it calls are followed a few levels.
    """
    return _PollWalk(function, functions, macros, texts, level).polled()


class _PollWalk(AccessWalk):
    """One function."""

    def __init__(
        self,
        function: tree.Function,
        functions: Functions,
        macros: Container[str],
        texts: UnitTexts,
        level: int,
    ) -> None:
        super().__init__(function, functions, macros, level)
        self.texts = texts
        self.found: dict[str, bool] = {}

    def inside(self, function: tree.Function) -> AccessWalk:
        """Return the walk of a function that is called: of it only the pointers count that it returns."""
        return AccessWalk(function, self.functions, self.macros, self.level + 1)

    def polled(self) -> dict[str, bool]:
        """Return what is polled."""
        body = self.function.body
        if body is None or self.level > _MOST_CALLS:
            return {}
        self.follow_aliases(body)
        self._atomic_objects = dict(self._references_to(body))
        self._volatile = set(_VOLATILE.findall(self.texts.text_of(self.function)))
        for loop in nodes(body):
            if isinstance(loop, tree.While | tree.DoWhile | tree.For):
                for condition in _decides(loop):
                    self._look_at(condition)
        for call in nodes(body):
            if isinstance(call, tree.Call):
                self._call_polls(call)
        return self.found

    def _references_to(self, body: tree.Block) -> Iterator[tuple[str, tree.Expression]]:
        """Yield the names of `cuda::atomic_ref` objects, and what each refers to."""
        for node in nodes(body):
            if isinstance(node, tree.Variable) and node.type.name in ATOMIC_REFERENCES:
                made = node.initializer.items if isinstance(node.initializer, tree.InitList) else [node.initializer]
                for argument in [*(node.arguments or ()), *made]:
                    if argument is not None:
                        yield node.name, argument

    def _add(self, place: tree.Expression) -> None:
        fixed = not any(
            isinstance(each, tree.Index) and not isinstance(each.index, tree.Literal_) for each in nodes(place)
        ) and not any(isinstance(each, tree.Binary) for each in nodes(place))
        for name in self._place(place) | self._roots(place):
            self.found[name] = self.found.get(name, True) and fixed

    def _look_at(self, condition: tree.Expression) -> None:
        for node in nodes(condition):
            if isinstance(node, tree.Call):
                self._look_at_call(node)
            elif isinstance(node, tree.Index | tree.Member) or (isinstance(node, tree.Unary) and node.operator == "*"):
                if self._is_volatile(node):
                    self._add(node)
            elif isinstance(node, tree.Name) and node.name in self.references and self._is_volatile(node):
                self._add(node)

    def _is_volatile(self, node: tree.Expression) -> bool:
        for each in nodes(node):
            if isinstance(each, tree.Name) and self._is_volatile_name(each.name):
                return True
            if isinstance(each, tree.Member) and self.texts.is_volatile(each.member):
                return True
            if isinstance(each, tree.Cast) and "volatile" in self.texts.text_at(each.span):
                return True
        return False

    def _is_volatile_name(self, name: str) -> bool:
        if name in self._volatile:
            return True
        # Variables, and fields of structures, are declared elsewhere.
        return (name in self.references or is_path(name)) and self.texts.is_volatile(name.rpartition(".")[2])

    def _look_at_call(self, node: tree.Call) -> None:
        callee = node.callee
        if isinstance(callee, tree.Member):
            if callee.member in _READS:
                self._look_at_object(callee.object)
            return
        name = callee.name.rpartition("::")[2] if isinstance(callee, tree.Name) else ""
        if not node.arguments:
            return
        if ATOMICS.fullmatch(name) or _LOADS.fullmatch(name):
            value = node.arguments[1] if len(node.arguments) > 1 else None
            nothing = isinstance(value, tree.Literal_) and value.value == 0 and _CHANGE_NOTHING.fullmatch(name)
            if nothing or _LOADS.fullmatch(name) or (_EXCHANGES.fullmatch(name) and self._is_fixed(node)):
                self._add(node.arguments[0])
        elif any(self.texts.talks(each) for each in self.functions.get(name, ())):
            for argument in node.arguments:
                self._add(argument)

    @staticmethod
    def _is_fixed(node: tree.Call) -> bool:
        """Tell whether an exchange awaits one value: others compute with what they read."""
        return all(isinstance(each, tree.Literal_) for each in node.arguments[1:])

    def _look_at_object(self, node: tree.Expression) -> None:
        """An atomic object: a reference, a parameter, or one that is made on the spot."""
        if isinstance(node, tree.Name) and node.name in self._atomic_objects:
            self._add(self._atomic_objects[node.name])
        elif isinstance(node, tree.Call) and node.arguments:
            name = node.callee.name if isinstance(node.callee, tree.Name) else ""
            if name in ATOMIC_REFERENCES:
                self._add(node.arguments[0])
        elif isinstance(node, tree.InitList) and node.type is not None and node.type.name in ATOMIC_REFERENCES:
            for item in node.items:
                self._add(item)
        else:
            self._add(node)

    def _call_polls(self, node: tree.Call) -> None:
        """A function that is called, or an atomic object that is waited for."""
        callee = node.callee
        if isinstance(callee, tree.Member):
            if callee.member == "wait":
                self._look_at_object(callee.object)
            return
        name = callee.name.rpartition("::")[2] if isinstance(callee, tree.Name) else ""
        for each in self.functions.get(name, ()):
            if len(each.parameters) < len(node.arguments) or each is self.function:
                continue
            inner = polled_words(each, self.functions, self.macros, self.texts, self.level + 1)
            for parameter, argument in zip(each.parameters, node.arguments, strict=False):
                if parameter.name in inner:
                    before = dict(self.found)
                    self._add(argument)
                    if not inner[parameter.name]:
                        self.found.update(dict.fromkeys(self.found.keys() - before.keys(), False))
            break


def _leaves(node: object) -> bool:
    return isinstance(node, tree.Break | tree.Return | tree.Goto)


def _decides(loop: tree.While | tree.DoWhile | tree.For) -> Iterator[tree.Expression]:
    """Yield what decides whether a loop goes on: conditions, and what gives their variables a value in it."""
    conditions = [loop.condition] if loop.condition is not None else []
    conditions += [
        node.condition for node in nodes(loop.body) if isinstance(node, tree.If) and any(map(_leaves, nodes(node)))
    ]
    yield from conditions
    names = {each.name for condition in conditions for each in nodes(condition) if isinstance(each, tree.Name)}
    for node in nodes(loop):
        if isinstance(node, tree.Assign) and isinstance(node.target, tree.Name) and node.target.name in names:
            yield node.value
        elif isinstance(node, tree.Variable) and node.name in names and node.initializer is not None:
            yield node.initializer

"""How an argument of an operation is written: in the call itself, and by the callers that hand it down."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache

from streamsan.edits.code_place import Argument
from streamsan.edits.python.places import Function, PythonPlace, With
from streamsan.platforms import CUDA
from streamsan.platforms.python_bindings import FunctionEntry, ModuleName, catalogue

STREAMS = ("cudaStream_t", "CUstream")
EVENTS = ("cudaEvent_t", "CUevent")
CONSTRUCTORS = ("__init__", "__new__", "__post_init__")
METHODS_OF_WITH = ("__enter__", "__exit__", "__aenter__", "__aexit__")


def module_of(name: str) -> ModuleName:
    """Return the module of cuda.bindings that has a function, a type or a constant of this name."""
    interface = CUDA.interface(name)
    return "driver" if interface is None or interface.low_level else "runtime"


@cache
def entry_of(api: str) -> FunctionEntry | None:
    """Return what cuda.bindings says of a function, None if it has none of this name."""
    module = catalogue(module_of(api))
    found = module.function(api)
    return found or (module.function(api.partition("_v")[0]) if "_v" in api else None)


def parameter_of(api: str, *words: str) -> int | None:
    """Return the position of a function's first parameter of one of these types, or of one of these names."""
    entry = entry_of(api)
    if entry is None:
        return None
    for position, item in enumerate(entry.parameters):
        if item.word.removesuffix("?") in words or item.name in words:
            return position
    return None


def written(places: Sequence[PythonPlace | None], api: str, position: int) -> Iterator[Argument]:
    """Yield how an argument of the API is written, at each level of a chain of calls, innermost first."""
    innermost = places[0] if places else None
    entry = entry_of(api)
    if innermost is None or innermost.call is None or entry is None:
        return
    value = _argument(innermost.call, position, entry.parameters[position].name)
    yield from _handed_down(places, 0, value, "")


Value = ast.expr | tuple[str, int] | None
"""an expression, or the position in `*names`, or nothing that is known"""


def _handed_down(places: Sequence[PythonPlace | None], level: int, value: Value, suffix: str) -> Iterator[Argument]:
    """Yield the levels of a value from one on; `suffix` are attributes of the value that are meant."""
    place = places[level]
    if place is None or value is None:
        return
    if isinstance(value, ast.expr):
        node = None if suffix else value
        yield Argument(place, place.text.of(value) + suffix, node)
    caller = next((each for each in places[level + 1 :] if each is not None), None)
    if caller is None or places.index(caller) != level + 1:
        return
    function = _function_of(place)
    if function is None:
        return
    root, attributes = (value, "") if isinstance(value, tuple) else _root(place, value)
    if root is None:
        return
    found = _passed(caller, function, root)
    if isinstance(found, str):
        text = found + attributes + suffix
        yield Argument(caller, text, None)
        return
    yield from _handed_down(places, level + 1, found, attributes + suffix)


def _root(place: PythonPlace, value: ast.expr) -> tuple[str | None, str]:
    """Return the name that an expression begins with, and the attributes and elements behind it."""
    node = value
    if isinstance(node, ast.Call) and _name_of(node.func) in ("list", "tuple") and len(node.args) == 1:
        # `list(after)`
        node = value = node.args[0]
    while isinstance(node, ast.Attribute) or (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)):
        node = node.value
    if not isinstance(node, ast.Name):
        return None, ""
    return node.id, place.text.of(value)[len(node.id) :]


def _function_of(place: PythonPlace) -> Function | None:
    body = place.body
    return body if isinstance(body, Function) else None


def _passed(caller: PythonPlace, function: Function, root: str | tuple[str, int]) -> Value | str:
    """Return what a caller gives for a parameter: an expression, or its text where none is written."""
    call = _call_of(caller, function)
    arguments = function.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    method = _is_method(caller, function, call, names)
    if isinstance(root, tuple):
        if arguments.vararg is None or arguments.vararg.arg != root[0] or call is None:
            return None
        return _argument(call, root[1] + len(names) - method, "")
    if method and names and root == names[0]:
        return _receiver(caller, function, call)
    if call is None:
        return None
    if root in names:
        return _argument(call, names.index(root) - method, root)
    return next((each.value for each in call.keywords if each.arg == root), None)


def _call_of(caller: PythonPlace, function: Function) -> ast.Call | None:
    """Return the call by which a function was reached: at the place itself, or in the head of its `with` or loop."""
    if caller.call is not None:
        return caller.call
    node = caller.node
    heads: list[ast.expr] = []
    if isinstance(node, With):
        heads = [item.context_expr for item in node.items]
    elif isinstance(node, ast.For | ast.AsyncFor):
        heads = [node.iter]
    elif isinstance(node, ast.expr):
        heads = [node]
    calls = [each for each in heads if isinstance(each, ast.Call)]
    named = [each for each in calls if _name_of(each.func) == function.name]
    if function.name in METHODS_OF_WITH:
        return None
    return named[0] if len(named) == 1 else calls[0] if len(calls) == 1 else None


def _name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_method(caller: PythonPlace, function: Function, call: ast.Call | None, names: Sequence[str]) -> int:
    """Return 1 where the first parameter is the object that the function is called on, else 0."""
    if not names or any(_name_of(each) == "staticmethod" for each in function.decorator_list):
        return 0
    if function.name in (*CONSTRUCTORS, *METHODS_OF_WITH):
        return 1
    if call is None:
        return int(names[0] == "self")
    return int(names[0] in ("self", "cls") and isinstance(call.func, ast.Attribute))


def _receiver(caller: PythonPlace, function: Function, call: ast.Call | None) -> Value | str:
    """Return the object that a method was called on, as the caller writes it."""
    if function.name in METHODS_OF_WITH:
        return _entered(caller)
    if function.name in CONSTRUCTORS:
        return None
    if call is not None and isinstance(call.func, ast.Attribute):
        receiver = call.func.value
        if isinstance(receiver, ast.Call) and _name_of(receiver.func) == "super":
            return caller.body.args.args[0].arg if isinstance(caller.body, Function) and caller.body.args.args else None
        return receiver
    return None


def _entered(caller: PythonPlace) -> Value | str:
    items = caller.node.items if isinstance(caller.node, With) else []
    if len(items) != 1:
        return None
    item = items[0]
    if isinstance(item.context_expr, ast.Name | ast.Attribute):
        return item.context_expr
    return item.optional_vars if isinstance(item.optional_vars, ast.Name) else None


def _argument(call: ast.Call, position: int, name: str) -> Value:
    """Return the argument at a position, or of a name."""
    for number, argument in enumerate(call.args):
        if isinstance(argument, ast.Starred):
            inner = argument.value
            if isinstance(inner, ast.Name) and position >= number:
                return inner.id, position - number
            if isinstance(inner, ast.List | ast.Tuple) and 0 <= position - number < len(inner.elts):
                return inner.elts[position - number]
            return None
        if number == position:
            return argument
    return next((each.value for each in call.keywords if name and each.arg == name), None)


def may_be_repeated(node: ast.expr) -> bool:
    """Tell whether an expression does nothing but name something."""
    if isinstance(node, ast.Call):
        # `self.stream.handle()`, `int(stream)`
        plain = not node.args and not node.keywords and isinstance(node.func, ast.Attribute)
        number = isinstance(node.func, ast.Name) and node.func.id == "int" and len(node.args) == 1
        if not plain and not number:
            return False
    elif not isinstance(node, ast.Name | ast.Constant | ast.Attribute | ast.Subscript | ast.BinOp | ast.UnaryOp):
        return False
    return all(may_be_repeated(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))

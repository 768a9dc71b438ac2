"""What a piece of code could do to GPU work, found without running it: what may be summarised, and what must be run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from streamsan.cuda_source import known_apis
from streamsan.cuda_source.library.tables import is_harmless
from streamsan.cuda_source.program.created_streams import CreatedStreams
from streamsan.cuda_source.program.index import Program
from streamsan.cuda_source.values.cells import Closure, FunctionValue, Native, StructObject, Value
from streamsan.cuda_source.values.classes import last_name
from streamsan.cuda_source.values.types import SCALAR_SIZES, canonical_name
from streamsan.cuda_syntax import tree
from streamsan.kernels.behaviour import KernelBehaviours
from streamsan.patterns.late_pattern import late_pattern

if TYPE_CHECKING:
    from streamsan.cuda_source.program.thread_waits import ThreadWaits

API_NAME = late_pattern(r"(?:cuda|cu|cl)[A-Z]\w*$")
Fact = TypeVar("Fact")
CUDA_NAME = late_pattern(r"(?:cuda|cu|CU|cl|nccl|cublas|cufft|thrust|rmm)(?:[A-Z]\w*|$)|cl(?:_|::)\w")
CUDA_WORD = late_pattern(r"\b(?:cuda|cu|cl)[A-Z]|<<<")
LARGEST_SMALL = 80
"""nodes of a small body"""
MOST_FUNCTIONS = 2000
_HOST_FUNCTION = late_pattern(
    r"\b(?:cu(?:da)?LaunchHostFunc|cu(?:da)?StreamAddCallback|clSetEventCallback|clEnqueueNativeKernel)\b"
)
_CONDITION = late_pattern("condition_variable")
_TELLS_THREADS = late_pattern(r"\b(?:atomic(?:_\w+)?|stop_token|stop_source|stop_requested)\b")
"""what threads tell each other by, and wait for in loops: the names of its types, and of what asks a thread to end"""
_MUTEX = late_pattern("mutex")
_RECORDS = frozenset({"cudaEventRecord", "cudaEventRecordWithFlags", "cuEventRecord", "cuEventRecordWithFlags"})
_EXITS = frozenset({"exit", "_exit", "_Exit", "quick_exit", "abort", "terminate", "MPI_Abort"})
_FIELDS: dict[type[Any], tuple[str, ...]] = {}
_LARGEST_WALK = 20_000


class WayOut(Enum):
    """What a branch leaves in its last statement: the more, the greater."""

    NONE = 0
    LOOP = 1
    """one turn of the loop, or the loop, or a `switch`"""
    FUNCTION = 2
    PROGRAM = 3
    """the program, or all functions up to one that catches an exception"""


def _last_of(node: tree.Statement) -> tree.Statement:
    """Return the last statement of blocks in each other, those that macros put into `do ... while (0)` among them."""
    while True:
        if isinstance(node, tree.Block) and node.body:
            node = node.body[-1]
        elif isinstance(node, tree.DoWhile) and isinstance(node.condition, tree.Literal_) and not node.condition.value:
            node = node.body
        else:
            return node


def _body_of(macro: tree.Macro) -> tree.Block:
    """Return what a macro stands for, as statements."""
    if isinstance(macro.expression, tree.StatementExpression):
        return macro.expression.body
    if macro.expression is not None:
        return tree.Block(macro.span, [tree.ExpressionStatement(macro.span, macro.expression)])
    return tree.Block(macro.span, list(macro.statements or []))


def _is_nothing(value: tree.Expression | None) -> bool:
    """Tell whether a value is written as a null pointer, or as false."""
    if isinstance(value, tree.Cast):
        return _is_nothing(value.operand)
    if isinstance(value, tree.Name):
        return value.name == "NULL"
    return isinstance(value, tree.Literal_) and not value.value


def _is_null(value: tree.Expression | None) -> bool:
    """Tell whether a value is written as a null pointer, whatever is returned elsewhere: 0 may be a status."""
    if isinstance(value, tree.Cast):
        return _is_null(value.operand)
    if isinstance(value, tree.Name):
        return value.name == "NULL"
    return isinstance(value, tree.Literal_) and value.value is None


def _none_of(returns: tree.Type) -> Callable[[tree.Expression | None], bool]:
    """Return what tells that a value of a function's type is written as none."""
    return _is_nothing if returns.pointers or returns.name == "bool" else _is_negative


def _is_negative(value: tree.Expression | None) -> bool:
    """Tell whether a value is written as a negative number: no place, no number of anything."""
    if not isinstance(value, tree.Literal_):
        return False
    return isinstance(value.value, int | float) and value.value < 0


def children(node: Any) -> Iterator[Any]:
    """Yield the tree nodes directly below a node."""
    names = _FIELDS.get(type(node))
    if names is None:
        names = tuple(name for name in node.__struct_fields__ if name not in ("span", "type", "_lower", "returns"))
        _FIELDS[type(node)] = names
    for name in names:
        value = getattr(node, name)
        if isinstance(value, tree.Expression | tree.Statement):
            yield value
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, tree.Expression | tree.Statement):
                    yield item
                elif isinstance(item, tuple):
                    for part in item:
                        if isinstance(part, tree.Expression | tree.Statement):
                            yield part
                        elif isinstance(part, list):
                            yield from (inner for inner in part if isinstance(inner, tree.Expression | tree.Statement))


def walk(node: Any) -> Iterator[Any]:
    """Yield a node and all below it."""
    pending = [node]
    count = 0
    while pending and count < _LARGEST_WALK:
        current = pending.pop()
        count += 1
        yield current
        pending.extend(reversed(list(children(current))))


def _mentions(function: tree.Function) -> Iterator[str]:
    """Yield the last names, and types, that a function's body and parameters mention."""
    for parameter in function.parameters:
        yield parameter.type.name
    for part in walk(function):
        if isinstance(part, tree.Name):
            yield last_name(part.name)
        elif isinstance(part, tree.Member):
            yield last_name(part.member)
        elif isinstance(part, tree.Variable | tree.New):
            yield last_name(part.type.name)
        elif isinstance(part, tree.Launch):
            yield "<<<>>>"


class Relevance:
    """Answers for one unit; shared by all its paths."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.kernels = KernelBehaviours(program.unit)
        self.created_streams = CreatedStreams(program)
        self.elsewhere: Callable[[str], list[tree.Function]] = lambda name: []
        """last name -> functions of the program's other units"""
        self.macros: dict[str, tree.Macro] = program.macros
        self._kept: list[Any] = []
        """Nodes whose ids are keys above: they must not be collected."""
        self._functions: dict[str, bool] = {}
        self._facts: dict[tuple[str, int], Any] = {}
        self._in_endless_loops: set[int] = set()
        self._bodies: dict[str, list[tree.Function]] | None = None

    def names_in(self, node: Any) -> list[str]:
        """Return the names used in a tree, in order, each once."""
        return self._once(
            "names", node, lambda: list(dict.fromkeys(part.name for part in walk(node) if isinstance(part, tree.Name)))
        )

    def _once(self, fact: str, node: Any, compute: Callable[[], Fact]) -> Fact:
        """Compute a fact about a tree the first time it is asked for."""
        key = (fact, id(node))
        if key not in self._facts:
            self._facts[key] = compute()
            self._kept.append(node)
        found: Fact = self._facts[key]
        return found

    def _leaves(self, node: Any, kinds: Any) -> bool:
        return bool(self._once(f"leaves{kinds}", node, lambda: any(isinstance(part, kinds) for part in walk(node))))

    def free_names(self, node: tree.Lambda) -> list[str]:
        """Return the names that a lambda's body uses and may capture."""
        own = {parameter.name for parameter in node.parameters}
        return self._once("free", node, lambda: [name for name in self.names_in(node.body) if name not in own])

    def expression_acts(self, node: tree.Expression) -> bool:
        """Tell whether evaluating an expression may issue an operation, or call code nobody can see."""
        return self._acts(node)

    def statement_acts(self, node: tree.Statement) -> bool:
        """Tell whether a statement may issue an operation, leave its block, or change a pointer or handle."""
        return self._acts(node) or self._leaves(node, tree.Return | tree.Break | tree.Continue | tree.Goto)

    def branch_acts(self, node: tree.If) -> bool:
        """Tell whether one of the ways of a branch does so."""
        return any(self.statement_acts(each) for each in (node.then, node.otherwise) if each is not None)

    def gives_up(self, node: tree.Statement | None) -> bool:
        """Tell whether a branch leaves the function or the program without issuing work: after an error, or at once."""
        return node is not None and self._once("gives up", node, lambda: self._gives_up(node))

    def has_found(self, node: tree.Statement | None, code: tree.Function | tree.Lambda) -> bool:
        """Tell whether a branch returns what code sought, which returns nothing, false or -1 in the end."""
        if node is None or code.body is None:
            return False
        found, in_the_end = _last_of(node), _last_of(code.body)
        if not isinstance(found, tree.Return) or not isinstance(in_the_end, tree.Return):
            return False
        is_none = _is_null if isinstance(code, tree.Lambda) else _none_of(code.returns)
        return not is_none(found.value) and is_none(in_the_end.value)

    def ends_its_loop(self, node: tree.If) -> bool:
        """Tell whether a branch lies in a loop without a condition: what leaves there is how the loop goes on."""
        return id(node) in self._in_endless_loops

    def meets_endless_loop(self, body: tree.Statement) -> None:
        """Note the branches of a loop that has no condition."""
        self._once("endless", body, lambda: self._note_branches(body))

    def _note_branches(self, body: tree.Statement) -> bool:
        self._in_endless_loops.update(id(part) for part in walk(body) if isinstance(part, tree.If))
        return True

    def _gives_up(self, node: tree.Statement) -> bool:
        return self.way_out(node).value >= WayOut.FUNCTION.value and not any(self._is_work(part) for part in walk(node))

    def way_out(self, node: tree.Statement | None) -> WayOut:
        """Return what a branch surely leaves in the end."""
        return WayOut.NONE if node is None else self._once("way out", node, lambda: self._way_out(node))

    def _way_out(self, node: tree.Statement) -> WayOut:
        last = _last_of(node)
        if isinstance(last, tree.If) and last.otherwise is not None:
            return min(self._way_out(last.then), self._way_out(last.otherwise), key=lambda way: way.value)
        if self._ends_program(last):
            return WayOut.PROGRAM
        if isinstance(last, tree.Return | tree.Goto):
            return WayOut.FUNCTION
        return WayOut.LOOP if isinstance(last, tree.Break | tree.Continue) else WayOut.NONE

    def _ends_program(self, last: tree.Statement) -> bool:
        """Tell whether a statement throws or exits, or calls a function of the program that does so in the end."""
        made = last.expression if isinstance(last, tree.ExpressionStatement) else None
        if isinstance(made, tree.Unary):
            return made.operator == "throw"
        if not isinstance(made, tree.Call) or not isinstance(made.callee, tree.Name):
            return False
        name = last_name(made.callee.name)
        return name in _EXITS or self._exits(name)

    def _exits(self, name: str) -> bool:
        """Tell whether a macro, or all functions of a name, end the program and issue no work: after an error."""
        key = f"exits {name}"
        if key not in self._functions:
            self._functions[key] = False  # recursion ends nothing
            macro = self.macros.get(name)
            bodies = self.host_bodies(name) if macro is None else [_body_of(macro)]
            self._functions[key] = bool(bodies) and all(
                self._way_out(body) is WayOut.PROGRAM and not any(self._is_work(part) for part in walk(body))
                for body in bodies
            )
        return self._functions[key]

    def _is_work(self, part: Any) -> bool:
        if isinstance(part, tree.Call) and isinstance(part.callee, tree.Name):
            return known_apis.issues_work(last_name(part.callee.name))
        return isinstance(part, tree.Launch)

    def loop_acts(self, node: tree.Statement) -> bool:
        """Tell whether a loop's statement may issue an operation or leave the function."""
        return self._acts(node) or self._leaves(node, tree.Return | tree.Goto)

    def _acts(self, node: Any) -> bool:
        return self._once("acts", node, lambda: any(self._part_acts(part) for part in walk(node)))

    def _part_acts(self, part: Any) -> bool:
        if isinstance(part, tree.Launch | tree.New | tree.Delete):
            return True
        if isinstance(part, tree.Unary) and part.operator == "throw":
            return True
        if isinstance(part, tree.Call):
            return self._call_acts(part)
        if isinstance(part, tree.Name):
            macro = self.macros.get(part.name)
            return macro is not None and macro.parameters is None and self._macro_acts(macro)
        if isinstance(part, tree.Variable):
            return self._type_acts(part.type)
        return isinstance(part, tree.Unparsed) and bool(part.children)

    def _call_acts(self, call: tree.Call) -> bool:
        callee = call.callee
        if isinstance(callee, tree.Member):
            return self._named_acts(callee.member)
        if not isinstance(callee, tree.Name):
            return True
        name = callee.name
        if API_NAME.match(last_name(name)):
            return True
        macro = self.macros.get(name)
        if macro is not None:
            return self._macro_acts(macro)
        return canonical_name(name) not in SCALAR_SIZES and self._named_acts(name)

    def _named_acts(self, name: str) -> bool:
        """Tell whether a call by this name may issue an operation. The program's own `round` is not the library's."""
        own = not name.startswith("std::") and any(
            function.body is not None for function in self._by_name().get(last_name(name), ())
        )
        return self.function_acts(name) if own else not is_harmless(name)

    def _by_name(self) -> dict[str, list[tree.Function]]:
        if self._bodies is None:
            found: dict[str, list[tree.Function]] = {}
            for functions in self.program.functions.values():
                for function in functions:
                    found.setdefault(last_name(function.name), []).append(function)
            for name, node in self.program.classes.items():
                for method in self.program.members_of(name, node):
                    found.setdefault(last_name(method.name), []).append(method)
            self._bodies = found
        return self._bodies

    def host_bodies(self, name: str) -> list[tree.Block]:
        """Return the bodies of the unit's functions and methods, kernels aside, that have this last name."""
        return [
            each.body
            for each in self._by_name().get(name, ())
            if each.body is not None and not (each.kernel or each.device_only)
        ]

    @property
    def has_host_functions(self) -> bool:
        """A host function, or a callback, is named somewhere."""
        return self._is_named(_HOST_FUNCTION)

    def may_wait_for_threads(self, *parts: Any) -> bool:
        """Tell whether code asks for atomics or stop tokens, or pauses under a lock: it may wait for a thread so."""
        return self._thread_waits is not None and self._thread_waits.may_occur_in(parts)

    @cached_property
    def _thread_waits(self) -> ThreadWaits | None:
        if not (self._is_named(_TELLS_THREADS) or self._is_named(_MUTEX)):
            return None
        from streamsan.cuda_source.program.thread_waits import ThreadWaits  # few programs have threads that ask

        return ThreadWaits(self.program.unit, self._by_name, _TELLS_THREADS)

    @property
    def has_conditions(self) -> bool:
        """A condition variable is named somewhere."""
        return self._is_named(_CONDITION)

    def _is_named(self, words: re.Pattern[str]) -> bool:
        texts = self.program.unit.files.values()
        return self._once(words.pattern, self, lambda: any(words.search(text) for text in texts))

    def matters_when(self, body: Any) -> bool:
        """Tell whether a host thread's body issues work, records events, or waits for others: when it runs matters."""
        return self._once("matters when", body, lambda: self._matters_when(body))

    def _matters_when(self, body: Any) -> bool:
        waits = self.has_conditions
        pending = [body]
        seen: set[str] = set()
        while pending and len(seen) < MOST_FUNCTIONS:
            for part in walk(pending.pop()):
                is_member = isinstance(part, tree.Member)
                short = last_name(part.member if is_member else part.name if isinstance(part, tree.Name) else "")
                if isinstance(part, tree.Launch) or short in _RECORDS or known_apis.issues_work(short):
                    return True
                if waits and is_member and short == "wait":
                    return True
                if short and short not in seen:
                    seen.add(short)
                    pending += [each.body for each in self._by_name().get(short, []) if each.body is not None]
        return False

    def function_acts(self, name: str) -> bool:
        """Tell whether a call by this name may issue an operation."""
        short = last_name(name)
        known = self._functions.get(short)
        if known is not None:
            return known
        self._functions[short] = False  # recursion adds nothing
        functions = self._by_name().get(short, [])
        bodies = [function for function in functions if function.body is not None]
        acts = not bodies or any(self._part_acts(part) for function in bodies for part in walk(function.body))
        self._functions[short] = acts
        return acts

    def touches_gpu(self, function: tree.Function) -> bool:
        """Tell whether a function, or one that it calls, names anything of CUDA: an API, a launch, a handle's type."""
        seen: set[int] = set()
        pending = [function]
        while pending and len(seen) < MOST_FUNCTIONS:
            current = pending.pop()
            if id(current) in seen:
                continue
            seen.add(id(current))
            for name in self._once("mentions", current, lambda node=current: list(_mentions(node))):  # type: ignore[misc]
                if name == "<<<>>>" or CUDA_NAME.match(name):
                    return True
                macro = self.macros.get(name)
                if macro is not None and CUDA_WORD.search(macro.text):
                    return True
                known = self._by_name().get(name, [])
                pending.extend(known)
                if not any(each.body is not None for each in known):
                    pending.extend(self.elsewhere(name))
        return False

    def body_acts(self, function: tree.Function) -> bool:
        """Tell whether a function's own body may issue an operation."""
        return function.body is not None and self._acts(function.body)

    def callee_acts(self, callee: Value) -> bool:
        """Tell whether calling a value may do more than compute numbers."""
        if isinstance(callee, Closure):
            return self.closure_issues(callee) or bool(self.assigned(callee.node.body))
        if isinstance(callee, StructObject) and callee.cls is not None:
            found = callee.cls.find_method("operator()")
            return found is not None and self._functions_act(found[0])
        if isinstance(callee, FunctionValue):
            return self._functions_act(callee.functions)
        return isinstance(callee, Native)

    def closure_issues(self, closure: Closure) -> bool:
        """Tell whether calling a lambda may issue operations."""
        body: Any = closure.node.body
        return self.expression_acts(body)

    def _functions_act(self, functions: list[tree.Function]) -> bool:
        return any(each.body is None or self.body_acts(each) for each in functions)

    def _macro_acts(self, macro: tree.Macro) -> bool:
        if macro.name in self._functions:
            return self._functions[macro.name]
        self._functions[macro.name] = False
        nodes: list[Any] = list(macro.statements or [])
        if macro.expression is not None:
            nodes.append(macro.expression)
        acts = any(self._part_acts(part) or isinstance(part, tree.Return) for node in nodes for part in walk(node))
        if not nodes and macro.text.strip():
            acts = True
        self._functions[macro.name] = acts
        return acts

    def _type_acts(self, type: tree.Type) -> bool:
        if type.pointers or type.reference:
            return False
        if type.name.startswith(("std::thread", "std::jthread")):
            return True
        node = self.program.classes.get(type.name)
        if node is None:
            return False
        return any(
            method.constructor or method.destructor for method in self.program.members_of(type.name, node)
        ) or bool(node.bases)

    def assigned(self, node: Any) -> list[tree.Expression]:
        """Return the targets of assignments, increments and compound assignments in a tree."""
        return self._once("assigned", node, lambda: self._assigned(node))

    def _assigned(self, node: Any) -> list[tree.Expression]:
        found: list[tree.Expression] = []
        for part in walk(node):
            if isinstance(part, tree.Assign):
                found.append(part.target)
            elif isinstance(part, tree.Unary) and part.operator in ("++", "--", "post++", "post--"):
                found.append(part.operand)
        return found

    def keeps_what_it_finds(self, body: tree.Statement) -> bool:
        """Tell whether a small body, without loops, assigns a variable that it does not declare."""
        return self._once("keeps what it finds", body, lambda: self._keeps(body))

    def _keeps(self, body: tree.Statement) -> bool:
        declared = self.declares(body)
        if not any(isinstance(each, tree.Name) and each.name not in declared for each in self.assigned(body)):
            return False
        nodes = list(islice(walk(body), LARGEST_SMALL + 1))
        loops = tree.For | tree.RangeFor | tree.While | tree.DoWhile
        return len(nodes) <= LARGEST_SMALL and not any(isinstance(part, loops) for part in nodes)

    def given_addresses(self, node: Any) -> list[tree.Name]:
        """Return the variables whose addresses calls in a tree are given: `sscanf(line, "%u", &width)`."""
        return self._once("given", node, lambda: list(_given_addresses(node)))

    def accessed(self, node: Any) -> list[tuple[tree.Expression, bool, tree.Index | None]]:
        """Return the buffers that a tree indexes or dereferences, whether it writes them, and the indexing."""
        return self._once("accessed", node, lambda: self._accessed(node))

    def _accessed(self, node: Any) -> list[tuple[tree.Expression, bool, tree.Index | None]]:
        targets = {id(part) for target in self.assigned(node) for part in _with_wholes(target)}
        found: list[tuple[tree.Expression, bool, tree.Index | None]] = []
        for part in walk(node):
            if isinstance(part, tree.Index):
                found.append((part.base, id(part) in targets, part))
            elif isinstance(part, tree.Unary) and part.operator == "*":
                found.append((part.operand, id(part) in targets, None))
            elif isinstance(part, tree.Member) and part.arrow:
                found.append((part.object, id(part) in targets, None))
        return found

    def conditional_parts(self, node: Any) -> frozenset[int]:
        """Return the identities of what may not be evaluated in a tree: it stands behind a condition, or an exit."""
        return self._once("conditional parts", node, lambda: frozenset(_conditional_parts(node)))

    def leaves_early(self, body: tree.Statement) -> bool:
        """Tell whether a loop's body may end a turn, or the loop, before its end."""
        return self._leaves(body, tree.Break | tree.Continue | tree.Goto)

    def breaks(self, node: Any) -> bool:
        """Tell whether a tree may leave a loop before its end."""
        return self._leaves(node, tree.Break | tree.Goto)

    def initial_values(self, node: Any) -> dict[str, tree.Expression]:
        """Return what the variables that a tree declares begin with, by their names; a name twice: not known."""
        return self._once("initial values", node, lambda: self._initial_values(node))

    def _initial_values(self, node: Any) -> dict[str, tree.Expression]:
        variables = [part for part in walk(node) if isinstance(part, tree.Variable)]
        names = Counter(part.name for part in variables)
        return {
            part.name: part.initializer for part in variables if part.initializer is not None and names[part.name] == 1
        }

    def declares(self, node: Any) -> set[str]:
        """Return the names that a tree declares."""
        return self._once(
            "declares", node, lambda: {part.name for part in walk(node) if isinstance(part, tree.Variable)}
        )


def _conditional_parts(node: Any) -> Iterator[int]:
    exits = False
    for part in walk(node):  # in the order of the text
        if exits:
            yield id(part)
            continue
        exits = isinstance(part, tree.Break | tree.Continue | tree.Goto)
        ways: tuple[Any, ...] = ()
        if isinstance(part, tree.If | tree.Conditional):
            ways = part.then, part.otherwise
        elif isinstance(part, tree.Switch):
            ways = (part.body,)
        elif isinstance(part, tree.Binary) and part.operator in ("&&", "||"):
            ways = (part.right,)
        for way in ways:
            if way is not None:
                yield from (id(each) for each in walk(way))


def _with_wholes(target: tree.Expression) -> Iterator[tree.Expression]:
    """Yield what is assigned, and the objects that it is a part of (`p[i]` of `p[i].x`)."""
    yield target
    while isinstance(target, tree.Member) and not target.arrow:
        target = target.object
        yield target


def _given_addresses(node: Any) -> Iterator[tree.Name]:
    for call in walk(node):
        for argument in call.arguments if isinstance(call, tree.Call) else ():
            if (
                isinstance(argument, tree.Unary)
                and argument.operator == "&"
                and isinstance(argument.operand, tree.Name)
            ):
                yield argument.operand

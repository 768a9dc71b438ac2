"""How a kernel uses the memory behind its pointer parameters, read off its body."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import nodes, parts
from streamsan.kernels.cuda_images import image_access, is_image, is_texture
from streamsan.kernels.first_thread import surely_touched
from streamsan.kernels.held_objects import is_path
from streamsan.kernels.thread_values import Touched
from streamsan.kernels.uses import Use
from streamsan.patterns.late_pattern import late_pattern
from streamsan.vocabulary import AccessMode, SlotFlag

READS, WRITES, ESCAPES, ATOMIC = 1, 2, 4, 8
_MAX_CALLS: Final = 4
_WORD = late_pattern(r"[^\W\d]\w*")
_LOADS = late_pattern(r"__ld(?:g|cg|ca|cs|lu|cv)|__builtin_nontemporal_load")
_STORES = late_pattern(r"__st(?:cg|wb|cs|wt)")
ATOMICS = late_pattern(r"atomic[A-Z]\w*|__nv_atomic_\w+")
ATOMIC_REFERENCES: Final = frozenset(("cuda::atomic_ref", "cuda::std::atomic_ref", "atomic_ref"))
_ATOMIC_TYPES: Final = frozenset(("cuda::atomic", "cuda::std::atomic"))
_BY_VALUE = late_pattern(r"_{0,2}[a-z][a-z0-9_]*")
_BY_REFERENCE: Final = frozenset(("swap", "exchange", "sincos", "sincosf", "modf", "frexp", "iter_swap"))
_INERT: Final = frozenset(("printf", "assert", "__syncthreads", "__isGlobal", "__builtin_assume", "__prefetch"))


Functions = dict[str, list[tree.Function]]


def kernel_uses(function: tree.Function, functions: Functions, macros: dict[str, tree.Macro]) -> dict[str, Use | None]:
    """Return how a kernel uses its pointer parameters, by name; None: a pointer in a structure that it never uses.

    Functions that it calls are followed a few levels.
    """
    touched = surely_touched(function, functions, macros)
    uses: dict[str, Use | None] = {}
    for name, found in AccessWalk(function, functions, macros, 0).run().items():
        if not found and is_path(name):
            uses[name] = None
            continue
        uses[name] = use_of(found, name, touched)
    return uses


def use_of(found: int, name: str, touched: Touched) -> Use:
    """Return what a walk found (READS, WRITES, ESCAPES, ATOMIC) of a name, with what is surely touched, as a use."""
    mode = _mode(found)
    surely = touched.reads if mode is AccessMode.READ else touched.writes if mode is not AccessMode.OPAQUE else ()
    flags = int(SlotFlag.TOUCHES) if name in surely else 0
    return Use(mode, flags | SlotFlag.ATOMIC if found == ATOMIC else flags)


def use_by_type(of: tree.Type) -> Use:
    """Return what a parameter's type alone says of its use."""
    reads = is_texture(of) or (of.const and of.pointers == 1)
    return Use(AccessMode.READ if reads else AccessMode.OPAQUE)


def named_modes(function: tree.Function, functions: Functions, macros: dict[str, tree.Macro]) -> dict[str, AccessMode]:
    """How the accesses that a body names use the pointer parameters; what else may become of a pointer is left out."""
    uses = _NamedWalk(function, functions, macros, 0).run()
    modes = {name: READS | WRITES if found & ATOMIC else found & (READS | WRITES) for name, found in uses.items()}
    return {name: AccessMode(mode) for name, mode in modes.items() if mode}


def _mode(found: int) -> AccessMode:
    if found == ATOMIC:
        return AccessMode.READ_WRITE
    if found & (ESCAPES | ATOMIC):
        return AccessMode.OPAQUE
    return AccessMode(found & 3) if found & 3 else AccessMode.READ


def _only_reads(of: tree.Type) -> bool:
    return is_texture(of) if is_image(of) else of.const and of.pointers <= 1


def _is_pointer(of: tree.Type) -> bool:
    return (of.pointers > 0 or bool(of.array) or is_image(of)) and not of.function


class AccessWalk:
    """One function; locals that hold a parameter's pointer count as that parameter."""

    def __init__(self, function: tree.Function, functions: Functions, macros: Container[str], level: int) -> None:
        self.function = function
        self.functions = functions
        self.macros = macros
        self.level = level
        tracked = [p for p in function.parameters if p.name and (_is_pointer(p.type) or (level and p.type.reference))]
        self.uses: dict[str, int] = {p.name: 0 for p in tracked}
        self.references = {p.name for p in tracked if not _is_pointer(p.type)}
        self.constant = {p.name for p in tracked if _only_reads(p.type)}
        self.cast_away: set[str] = set()
        self.aliases: dict[str, set[str]] = {p.name: {p.name} for p in tracked}
        self.deep = {p.name for p in tracked if p.type.pointers > 1}
        self.given_back = {p.name for p in tracked if p.type.reference and _is_pointer(p.type)}
        """pointers of the caller's, which the function may change"""
        self.atomic = {p.name for p in tracked if p.type.name in _ATOMIC_TYPES}
        self.returned: set[str] = set()
        """whose pointers the function returns: its caller follows them"""
        self._called: dict[int, AccessWalk] = {}

    def run(self) -> dict[str, int]:
        """Return the uses (READS, WRITES, ESCAPES, ATOMIC) of each pointer parameter, by its name."""
        self.walk()
        self._note(self.returned - (self.constant - self.cast_away), ESCAPES)
        return self.uses

    def walk(self) -> None:
        """Find the uses. What becomes of a pointer that the function returns, its caller sees."""
        body = self.function.body
        if body is None:
            self.uses = {name: READS if name in self.constant else ESCAPES for name in self.uses}
            return
        self.follow_aliases(body)
        self._visit(body)
        self._note(self.returned & self.constant & self.cast_away, ESCAPES)
        for name in self.constant - self.cast_away:
            if self.uses[name] or not is_path(name):
                self.uses[name] = READS
        for name in self.deep & set(self.uses):
            self.uses[name] |= ESCAPES
        for name in self.atomic & set(self.uses):
            if self.uses[name] & (READS | WRITES) and not self.uses[name] & ESCAPES:
                self.uses[name] = ATOMIC

    def follow_aliases(self, body: tree.Block) -> None:
        """Note which locals hold which parameters' pointers."""
        for _ in range(4):  # aliases of aliases
            before = sum(len(found) for found in self.aliases.values())
            for node in nodes(body):
                self._alias(node)
            if before == sum(len(found) for found in self.aliases.values()):
                break

    def _alias(self, node: object) -> None:
        if isinstance(node, tree.Variable) and node.initializer is not None and node.name:
            if _is_pointer(node.type) or node.type.name == "auto" or node.type.reference:
                roots = self._roots(node.initializer, bool(node.type.reference))
                self.aliases.setdefault(node.name, set()).update(roots)
        elif isinstance(node, tree.Assign) and isinstance(node.target, tree.Name) and node.target.name not in self.uses:
            roots = self._roots(node.value)
            if roots:
                self.aliases.setdefault(node.target.name, set()).update(roots)
        elif isinstance(node, tree.Assign) and isinstance(node.target, tree.Name):
            self.aliases[node.target.name].update(self._roots(node.value))
        elif isinstance(node, tree.Cast) and node.type.pointers and not node.type.const:
            self.cast_away.update(self._roots(node.operand) & self.constant)

    def _roots(self, node: tree.Expression, element: bool = False) -> set[str]:
        """The parameters from which a pointer may be derived; with `element`, also by `p[i]` bound to a reference."""
        if isinstance(node, tree.Name):
            return self.aliases.get(node.name, set()) if element or node.name not in self.references else set()
        if isinstance(node, tree.Cast):
            return self._roots(node.operand, element)
        if isinstance(node, tree.Binary) and node.operator in ("+", "-", ","):
            return self._roots(node.left) | self._roots(node.right)
        if isinstance(node, tree.Conditional):
            return self._roots(node.then, element) | self._roots(node.otherwise, element)
        if isinstance(node, tree.Assign):
            return self._roots(node.value) | self._roots(node.target)
        if isinstance(node, tree.Unary):
            if node.operator == "&":
                return self._place(node.operand)
            if node.operator in ("++", "--", "post++", "post--"):
                return self._roots(node.operand)
            if node.operator == "*" and element:
                return self._roots(node.operand)
        if isinstance(node, tree.Index | tree.Member) and element:
            return self._place(node)
        if isinstance(node, tree.StatementExpression):
            value = _value_of(node)
            return set() if value is None else self._roots(value, element)
        if isinstance(node, tree.Call):
            return self._roots_returned(node)
        return set()

    def _roots_returned(self, node: tree.Call) -> set[str]:
        """The parameters from which a function may derive the pointer that it returns."""
        inner = self._inner(node)
        if inner is None:
            return set()
        given = zip(inner.function.parameters, node.arguments, strict=False)
        return {root for parameter, one in given if parameter.name in inner.returned for root in self._roots(one)}

    def _inner(self, node: tree.Call) -> AccessWalk | None:
        """The walk of the function that is called; None: it is not followed."""
        name = node.callee.name.rpartition("::")[2] if isinstance(node.callee, tree.Name) else ""
        candidates = [f for f in self.functions.get(name, ()) if len(f.parameters) >= len(node.arguments)]
        if not candidates or self.level >= _MAX_CALLS or name in self.macros:
            return None
        known = self._called.get(id(candidates[0]))
        if known is None:
            known = self._called[id(candidates[0])] = self.inside(candidates[0])
            known.walk()
        return known

    def inside(self, function: tree.Function) -> AccessWalk:
        """Return the walk of a function that is called here."""
        return type(self)(function, self.functions, self.macros, self.level + 1)

    def _place(self, node: tree.Expression) -> set[str]:
        """The parameters into whose memory an lvalue leads."""
        if isinstance(node, tree.Index):
            return self._roots(node.base) or self._place(node.base)
        if isinstance(node, tree.Unary) and node.operator == "*":
            return self._roots(node.operand)
        if isinstance(node, tree.Member):
            return self._roots(node.object) if node.arrow else self._place(node.object)
        if isinstance(node, tree.Name):
            return self.aliases.get(node.name, set()) if node.name in self.references else set()
        if isinstance(node, tree.Conditional):
            return self._place(node.then) | self._place(node.otherwise)
        if isinstance(node, tree.StatementExpression):
            value = _value_of(node)
            return set() if value is None else self._place(value)
        return set()

    def _note(self, names: set[str], use: int) -> None:
        for name in names:
            self.uses[name] |= use

    def _mentioned(self, text: str) -> set[str]:
        if text == "..." or text.startswith(("//", "/*")):
            return set(self.uses)
        return {root for word in set(_WORD.findall(text)) for root in self.aliases.get(word, ())}

    # -- the walk ------------------------------------------------------------------------------------------------------

    def _visit(self, node: object) -> None:
        if isinstance(node, tree.Assign):
            place = self._place(node.target) or self._reference_target(node.target)
            self._note(place, WRITES if node.operator == "=" else READS | WRITES)
            self._visit_place(node.target)
            if not isinstance(node.target, tree.Name):
                self._note(self._roots(node.value), ESCAPES)
            elif node.target.name in self.given_back:
                roots = self._roots(node.value)
                self._note(roots | {node.target.name} if roots != {node.target.name} else set(), ESCAPES)
            self._visit(node.value)
        elif isinstance(node, tree.Unary) and node.operator in ("++", "--", "post++", "post--"):
            self._note(self._place(node.operand) or self._reference_target(node.operand), READS | WRITES)
            self._visit_place(node.operand)
        elif isinstance(node, tree.Unary) and node.operator == "&":
            self._visit_place(node.operand)
        elif isinstance(node, tree.Index | tree.Member) or (isinstance(node, tree.Unary) and node.operator == "*"):
            self._note(self._place(node), READS)
            self._visit_place(node)
        elif isinstance(node, tree.Name):
            if node.name not in self.uses:
                for alias in self.aliases.get(node.name, ()):
                    if node.name in self._bound_references:
                        self.uses[alias] |= READS
            elif node.name in self.references:
                self.uses[node.name] |= READS
        elif isinstance(node, tree.Call):
            self._call(node)
        elif isinstance(node, tree.Launch):
            for argument in node.arguments:
                self._note(self._roots(argument), ESCAPES)
            self._children(node)
        elif isinstance(node, tree.Unparsed | tree.UnparsedStatement):
            self._note(self._mentioned(node.text), ESCAPES)
        elif isinstance(node, tree.Variable):
            self._variable(node)
        elif isinstance(node, tree.SizeOf):
            return
        else:
            self._children(node)

    @property
    def _bound_references(self) -> set[str]:
        found: set[str] | None = getattr(self, "_bound", None)
        if found is None:
            body = self.function.body
            found = (
                {n.name for n in nodes(body) if isinstance(n, tree.Variable) and n.type.reference} if body else set()
            )
            self._bound = found
        return found

    def _reference_target(self, node: tree.Expression) -> set[str]:
        if isinstance(node, tree.Name) and node.name in self._bound_references:
            return self.aliases.get(node.name, set())
        return set()

    def _visit_place(self, node: tree.Expression) -> None:
        """The parts of an lvalue that are evaluated, without the access itself."""
        if isinstance(node, tree.Index):
            if self._roots(node.base):
                self._visit(node.base)
            else:
                self._visit_place(node.base)
            self._visit(node.index)
        elif isinstance(node, tree.Unary) and node.operator == "*":
            self._visit(node.operand)
        elif isinstance(node, tree.Member):
            if node.arrow:
                self._visit(node.object)
            else:
                self._visit_place(node.object)
        elif isinstance(node, tree.StatementExpression):
            value = _value_of(node)
            self._visit(node.body.body[:-1])
            self._visit(node.body.body[-1:]) if value is None else self._visit_place(value)
        elif not isinstance(node, tree.Name):
            self._visit(node)

    def _variable(self, node: tree.Variable) -> None:
        if node.type.name in ATOMIC_REFERENCES:
            made = node.initializer.items if isinstance(node.initializer, tree.InitList) else [node.initializer]
            for argument in [*(node.arguments or ()), *made]:
                if argument is not None:
                    self._note(self._place(argument), ATOMIC)
                    self._visit_place(argument)
            return
        for argument in node.arguments or ():
            self._note(self._roots(argument), ESCAPES)
            self._visit(argument)
        if node.initializer is None:
            return
        roots = self._roots(node.initializer)
        if roots and not (_is_pointer(node.type) or node.type.name == "auto" or node.type.reference):
            self._note(roots, ESCAPES)
        if node.type.reference:
            self._visit_place(node.initializer)
            if node.type.const:
                self._note(self._place(node.initializer), READS)
        else:
            self._visit(node.initializer)

    def _call(self, node: tree.Call) -> None:
        name = node.callee.name.rpartition("::")[2] if isinstance(node.callee, tree.Name) else ""
        if not isinstance(node.callee, tree.Name):
            self._visit(node.callee)
        inner = self._inner(node)
        for position, argument in enumerate(node.arguments):
            roots, place = self._roots(argument), self._place(argument)
            if not roots and not place:
                self._visit(argument)
                continue
            use = self._argument(name, position, bool(roots), inner)
            self._note(roots | place, use)
            self._visit_place(argument) if place and not roots else self._visit(argument)

    def _argument(self, name: str, position: int, pointer: bool, inner: AccessWalk | None) -> int:
        """What a call does with memory whose pointer, or an element of which, is an argument."""
        if inner is not None:
            if position < len(inner.function.parameters):
                parameter = inner.function.parameters[position]
                return inner.uses.get(parameter.name, 0 if pointer and not parameter.name else READS)
            return ESCAPES
        if name in self.macros:
            return ESCAPES
        if name == "atomic_ref":
            return ATOMIC
        if ATOMICS.fullmatch(name):
            return (ATOMIC if position == 0 else READS) if pointer else READS
        image = image_access(name)
        if image is not None and pointer:
            return WRITES if image.mode is AccessMode.WRITE else READS
        if _LOADS.fullmatch(name) and pointer:
            return READS
        if _STORES.fullmatch(name) and pointer:
            return WRITES
        if name in ("memcpy", "memmove") and pointer and position < 2:
            return WRITES if position == 0 else READS
        if name == "memset" and pointer:
            return WRITES
        if name in _INERT:
            return 0 if pointer else READS
        if pointer or name in _BY_REFERENCE:
            return ESCAPES
        return READS if _BY_VALUE.fullmatch(name) else ESCAPES

    def _children(self, node: object) -> None:
        if isinstance(node, tree.Lambda):
            for _, _, value in node.captures:
                self._visit(value)
            self._visit(node.body)
            return
        for child in parts(node):
            if isinstance(child, tree.Expression) and not isinstance(
                node, tree.Binary | tree.Conditional | tree.Cast | tree.Assign | tree.Unary
            ):
                self._escape_of(node, child)
            self._visit(child)

    def _escape_of(self, parent: object, child: tree.Expression) -> None:
        """A pointer that is returned or put into an object is no longer followed."""
        if isinstance(parent, tree.Return) and self.function.returns.pointers == 1:
            self.returned |= self._roots(child)
        elif isinstance(parent, tree.Return | tree.InitList | tree.New):
            self._note(self._roots(child), ESCAPES)
        if isinstance(parent, tree.Return) and self.function.returns.reference and not self.function.returns.const:
            self._note(self._place(child), ESCAPES)  # who is given the reference may write there


def _value_of(node: tree.StatementExpression) -> tree.Expression | None:
    """Return the value of `({ ...; value; })`."""
    last = node.body.body[-1] if node.body.body else None
    return last.expression if isinstance(last, tree.ExpressionStatement) else None


class _NamedWalk(AccessWalk):
    """Notes what is accessed, and nothing for a parameter's type alone."""

    def __init__(self, function: tree.Function, functions: Functions, macros: Container[str], level: int) -> None:
        super().__init__(function, functions, macros, level)
        self.constant = set()

"""The tree that the interpreter walks: C++ host code reduced to what matters, every node with its place.

Macros stay calls: `CHECK(cudaMalloc(&p, n))` is a `Call` of the name `CHECK`, whose argument keeps its own place;
the interpreter binds the macro's parameters to the argument trees by name and walks the macro's body.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from msgspec import Struct, field

from streamsan.cuda_syntax.files_seen import FilesSeen
from streamsan.cuda_syntax.inactive_text import InactiveText


class Span(NamedTuple):
    """A place in a file. Lines and columns count from 1; the end column is one past the last character."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


# -- types -----------------------------------------------------------------------------------------


class Type(Struct):
    """A type as written: `const std::vector<float*>&` is name `std::vector`, arguments [float*], const, reference."""

    name: str
    """qualified name without template arguments; `auto`; `` when it could not be read; `decltype` keeps its text"""
    arguments: list[Type | Expression] = field(default_factory=list)
    pointers: int = 0
    """levels of `*`"""
    reference: Literal["", "&", "&&"] = ""
    const: bool = False
    """the pointee (or the value, without pointers) is const: `const float*`"""
    array: list[Expression | None] = field(default_factory=list)
    """array dimensions, None for `[]`"""
    function: bool = False
    """a function pointer or function type: the callee is unknown until a value is bound"""


# -- expressions -----------------------------------------------------------------------------------


class Expression(Struct):
    """Base of expressions."""

    span: Span


class Name(Expression):
    """`x`, `ns::f`, `f<int>`; `this` too."""

    name: str
    template_arguments: list[Type | Expression] = field(default_factory=list)
    scope_arguments: list[Type | Expression] = field(default_factory=list)
    """of the class that the last component is in: `Buffer<int>::make`"""


class Literal_(Expression):  # noqa: N801
    """A number, string, character, boolean; None is `nullptr` or `NULL`."""

    value: int | float | str | bool | None


class Unary(Expression):
    """`-x !x ~x *p &x ++x --x x++ x--`; operators `x++`, `x--` are written `post++`, `post--`.

    Also `throw`, and `...` for a pack expansion (`args...`).
    """

    operator: str
    operand: Expression


class Binary(Expression):
    """`a + b`, `a && b`, `a , b` and so on; not assignments."""

    operator: str
    left: Expression
    right: Expression


class Fold(Expression):
    """`(f(args), ...)`, `(... + args)`, and with a first value `(0 + ... + args)`."""

    operator: str
    pattern: Expression
    initial: Expression | None = None


class PackSize(Expression):
    """`sizeof...(args)`."""

    name: str


class Assign(Expression):
    """`a = b`, `a += b` and so on."""

    operator: str
    target: Expression
    value: Expression


class Conditional(Expression):
    """`c ? a : b`."""

    condition: Expression
    then: Expression
    otherwise: Expression


class Call(Expression):
    """`f(a, b)`: a function, method, functor, constructor `T(a)`, or function-like macro: the interpreter finds out."""

    callee: Expression
    arguments: list[Expression]
    missing_arguments: bool = False
    """the argument list held something that is not an expression (`...`, a hole)"""


class Launch(Expression):
    """`f<<<grid, block, shared, stream>>>(a, b)`."""

    callee: Expression
    configuration: list[Expression]
    arguments: list[Expression]


class Member(Expression):
    """`a.b`, `a->b` (arrow)."""

    object: Expression
    member: str
    arrow: bool
    template_arguments: list[Type | Expression] = field(default_factory=list)


class Index(Expression):
    """`a[i]`."""

    base: Expression
    index: Expression


class Cast(Expression):
    """`(T)x`, `static_cast<T>(x)` and the other named casts, `T(x)` for built-in types."""

    type: Type
    operand: Expression


class SizeOf(Expression):
    """`sizeof(T)`, `sizeof x`: one of the two."""

    type: Type | None
    operand: Expression | None


class New(Expression):
    """`new T(args)`, `new T[n]`."""

    type: Type
    arguments: list[Expression]
    array_size: Expression | None


class Delete(Expression):
    """`delete p`, `delete[] p`."""

    operand: Expression
    array: bool


class InitList(Expression):
    """`{a, b}`, `T{a, b}` (type given); designators `.x = a` in `names`, else None."""

    type: Type | None
    items: list[Expression]
    names: list[str | None]


class Lambda(Expression):
    """A lambda. Captures: (name, by reference, initialiser or None); default "", "=" or "&"; `this` is a name."""

    default: Literal["", "=", "&"]
    captures: list[tuple[str, bool, Expression | None]]
    parameters: list[Parameter]
    body: Block


class StatementExpression(Expression):
    """GNU `({ ...; value; })`: statements, whose last, if an expression, is the value. `return` leaves the function."""

    body: Block


class Unparsed(Expression):
    """Something that is not an expression we know; parts that were recognised are children, in order."""

    text: str
    children: list[Expression]


# -- statements ------------------------------------------------------------------------------------


class Statement(Struct):
    """Base of statements."""

    span: Span


class Block(Statement):
    """`{ ... }`: a scope.

    Bodies of functions are lowered when `body` is first read (most of a header is never walked); what could not be
    followed in one is added to `Unit.problems` at that moment, except errors of the grammar, which are known at once.
    """

    body: list[Statement]
    _lower: Callable[[], list[Statement]] | None = None

    @classmethod
    def lazy(cls, span: Span, lower: Callable[[], list[Statement]]) -> Block:
        """A block whose statements `lower` gives, once, when they are first asked for."""
        block = cls(span, [], lower)
        del block.body
        return block

    def __eq__(self, other: object) -> bool:
        # Not what is still to be lowered: it is lowered here.
        return isinstance(other, Block) and self.span == other.span and self.body == other.body

    def __getattr__(self, name: str) -> Any:
        """Called only for a slot that was never set: `body` of a lazy block."""
        if name != "body" or self._lower is None:
            raise AttributeError(name)
        lower, self._lower = self._lower, None
        self.body = lower()
        return self.body


class ExpressionStatement(Statement):
    """`f(x);`"""

    expression: Expression


class Variable(Statement):
    """One declared variable. `int a, *b;` gives two. Structured bindings: names in `bindings`.

    `Buffer b(n, s);` is a variable with constructor `arguments` also where the grammar saw a function declaration;
    when names alone cannot decide (`T x(y);`), both readings are given: `maybe_function` is True.
    """

    name: str
    type: Type
    initializer: Expression | None = None
    """`= value`, or a braced list directly after the name"""
    arguments: list[Expression] | None = None
    """constructor arguments in parentheses"""
    static: bool = False
    extern: bool = False
    thread_local: bool = False
    device: Literal["", "device", "constant", "managed", "shared"] = ""
    bindings: list[str] = field(default_factory=list)
    maybe_function: bool = False
    c_linkage: bool = False
    """under `extern "C"`"""
    bits: Expression | None = None
    """how many a bit-field takes; None: it is none"""


class If(Statement):
    """`if (init; condition) then else otherwise`; a declared condition is `init` plus a Name."""

    init: Statement | None
    condition: Expression
    then: Statement
    otherwise: Statement | None


class For(Statement):
    """`for (init; condition; step) body`."""

    init: list[Statement]
    condition: Expression | None
    step: Expression | None
    body: Statement


class RangeFor(Statement):
    """`for (T x : range) body`."""

    variable: Variable
    range: Expression
    body: Statement


class While(Statement):
    """`while (condition) body`."""

    condition: Expression
    body: Statement


class DoWhile(Statement):
    """`do body while (condition);`"""

    body: Statement
    condition: Expression


class Switch(Statement):
    """`switch (value) body`; `Case` labels stand in the body's statement list, value None is `default`."""

    value: Expression
    body: Statement


class Case(Statement):
    """`case v:` or `default:`."""

    value: Expression | None


class Return(Statement):
    """`return value;`"""

    value: Expression | None


class Break(Statement):
    """`break;`"""


class Continue(Statement):
    """`continue;`"""


class Goto(Statement):
    """`goto label;`"""

    label: str


class Label(Statement):
    """`label:`"""

    label: str


class Try(Statement):
    """`try body catch (...) handler`."""

    body: Block
    handlers: list[Block]


class UnparsedStatement(Statement):
    """Text that is no statement we know (`...`, an error of the grammar); recognised expressions are children."""

    text: str
    children: list[Expression]


# -- declarations ----------------------------------------------------------------------------------


class Parameter(Struct):
    """A parameter of a function, lambda or template (type `typename` for type parameters)."""

    name: str
    type: Type
    default: Expression | None = None
    pack: bool = False


class Function(Statement):
    """A function with or without a body. `name` is qualified: `Buffer::~Buffer`, `ns::f`."""

    name: str
    parameters: list[Parameter]
    returns: Type
    body: Block | None
    templates: list[Parameter] = field(default_factory=list)
    specialization: list[Type | Expression] = field(default_factory=list)
    kernel: bool = False
    """`__global__`"""
    device_only: bool = False
    """`__device__` without `__host__`"""
    static: bool = False
    virtual: bool = False
    constructor: bool = False
    destructor: bool = False
    deleted: bool = False
    defaulted: bool = False
    variadic: bool = False
    initializers: list[tuple[str, list[Expression], bool]] = field(default_factory=list)
    """of a constructor: (member or base, arguments, braced)"""
    c_linkage: bool = False
    """under `extern "C"`: its name is the linker's"""


class Class(Statement):
    """A class, struct or union. Methods carry qualified names; in-class initialisers stand in the field's Variable."""

    name: str
    bases: list[Type]
    fields: list[Variable]
    methods: list[Function]
    nested: list[Statement]
    """nested classes, enums, aliases"""
    templates: list[Parameter] = field(default_factory=list)
    union: bool = False
    specialized: bool = False
    """`struct Name<T*>`: for some arguments of a template only"""


class Enum(Statement):
    """An enumeration: (name, value or None) in order."""

    name: str
    scoped: bool
    items: list[tuple[str, Expression | None]]


class Alias(Statement):
    """`typedef T name;`, `using name = T;`."""

    name: str
    type: Type
    templates: list[Parameter] = field(default_factory=list)


class UsingNamespace(Statement):
    """`using namespace ns;` or `using ns::name;` (then `single`)."""

    name: str
    single: bool


class Macro(Struct):
    """A `#define`. `parameters` None: object-like. The body parsed as an expression, as statements, or as neither.

    `do { ... } while (0)` is taken off: `statements` are what stood inside. In a body, `#x` is the string `#x` and a
    pasted identifier is the name `a##b`. The parameter of `...` is the name `__VA_ARGS__` (or the given name).
    """

    name: str
    parameters: list[str] | None
    text: str
    expression: Expression | None
    statements: list[Statement] | None
    span: Span
    variadic: bool = False
    redefined: bool = False
    """another definition, with another body, was in force elsewhere in the unit"""


_STOPS = frozenset(
    {"nested too deeply to follow", "too much damage to follow", "`{` is never closed", "#if without #endif"}
)


class Problem(Struct):
    """Something the reader could not follow: becomes SS603."""

    span: Span
    text: str

    @property
    def stops(self) -> bool:
        """Whether text behind it was not read."""
        return self.text in _STOPS


class Unit(Struct):
    """One translation unit: the file and the local files it includes, in order of text."""

    file: str
    declarations: list[Statement]
    """functions, classes, enums, aliases, global variables, using directives; namespaces are flattened into names"""
    macros: dict[str, Macro]
    """those in force at the end of the unit"""
    system_includes: list[str]
    missing_includes: list[Problem]
    problems: list[Problem]
    files: dict[str, str]
    """path -> text of every file read, for source excerpts"""
    foreign: frozenset[str] = frozenset()
    """those of `files` that are headers of a system's folder (`-isystem`): not the user's to mend"""
    codes: dict[str, str] = field(default_factory=dict)
    """path -> what of its text is active, without comments and directives; every character at its own offset"""
    inactive: dict[str, list[InactiveText]] = field(default_factory=dict)
    """path -> what a choice of the program's own leaves out (`#if USE_MPI`, not `#if 0` or `#ifdef _WIN32`)"""
    fragment: bool = False
    """statements stood outside any function: they were wrapped into a function named `` """
    without_functions: bool = False
    """the file's own text looks as if it had functions, and none was understood"""
    expansions: dict[Span, bool] = field(default_factory=dict)
    """invocations of macros outside functions that were replaced: whether what came of them holds a word of CUDA"""
    unread_macros: list[Problem] = field(default_factory=list)
    """invocations outside functions that hold a word of CUDA, and could not be replaced, or followed then"""
    seen: FilesSeen = field(default_factory=FilesSeen)
    """what of the file system all this depends on"""
    _bodies: dict[str, list[Function]] | None = None

    def functions_with_bodies(self) -> dict[str, list[Function]]:
        """Return them by their last names. Asked for each kernel, so kept: what was read does not change."""
        if self._bodies is None:
            self._bodies = {}
            for declared in self.declarations:
                if isinstance(declared, Function) and declared.body is not None:
                    self._bodies.setdefault(declared.name.rpartition("::")[2], []).append(declared)
        return self._bodies

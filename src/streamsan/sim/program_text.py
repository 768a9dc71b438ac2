"""From CUDA C++ text to the kernels and variables it defines, as a compiler for the device would list them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath

from msgspec import Struct, field

from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.compiler_options import CompilerOptions
from streamsan.cuda_syntax.unit import read_text
from streamsan.kernels.behaviour import KernelBehaviour, KernelBehaviours
from streamsan.kernels.pointer_uses import use_by_type
from streamsan.sim.c_types import BYTES, Types
from streamsan.sim.device_program import DeviceVariable, KernelParameter, KernelType, Program
from streamsan.sim.mangling import mangled, mangled_variable

_WORD = re.compile(r"[^\W\d]\w*")
_ATTRIBUTE = re.compile(
    r"\b__(?:cluster_dims|block_size|maxnreg)__\s*\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)|\b__grid_constant__\b"
)
_GLOBAL_MACRO = re.compile(r"^[ \t]*#[ \t]*define ([^\W\d]\w*)[ \t]+([^\n]*\b__global__\b[^\n\\]*)$", re.MULTILINE)
_RESERVED = re.compile(r"\b__\w+__\b")
_KNOWN_WORDS = frozenset(
    {"__global__", "__device__", "__host__", "__shared__", "__constant__", "__managed__", "__restrict__",
     "__launch_bounds__", "__forceinline__", "__noinline__", "__inline__", "__align__"}
)  # fmt: skip
_ARGUMENT = "streamsan_template_argument"


class Compiled(Struct, frozen=True):
    """What compiling gave. With errors there is no program."""

    program: Program
    errors: tuple[str, ...] = ()
    """one line each, with file and line"""
    lowered: Mapping[str, str] = field(default_factory=dict)
    """name expression -> linker's name"""


def compile_text(
    text: str,
    name: str,
    *,
    headers: Mapping[str, str] | None = None,
    defines: Mapping[str, str] | None = None,
    include_dirs: Sequence[str] = (),
    expressions: Sequence[str] = (),
) -> Compiled:
    """Return what a text defines. `headers` are texts by the names they are included by."""
    macros = {"__CUDACC__": "1", "__CUDACC_RTC__": "1", "__CUDA_ARCH__": "900", **(defines or {})}
    with tempfile.TemporaryDirectory(prefix="streamsan-") as folder:
        _write_headers(Path(folder), headers or {})
        readable = _readable(text)
        folders = [Path(folder), *(Path(given) for given in include_dirs)]
        unit = read_text(readable, name, CompilerOptions.of(macros, folders))
        reader = _Reader(unit)
        kernels = list(reader.kernels())
        lowered: dict[str, str] = {}
        errors: list[str] = []
        for expression in expressions:
            found = reader.named(expression, kernels)
            if found is None:
                errors.append(f"{name}(1): error: name expression `{expression}` names no kernel or variable")
                continue
            lowered[expression] = found.lowered
            if isinstance(found, KernelType):
                kernels = [kernel for kernel in kernels if kernel.lowered != found.lowered]
                kernels.append(found)
        wrong = list(_errors(unit, name))
        errors = [*wrong, *errors]
        # What could not be read may hold kernels: then no name is refused, and nothing is known of its parameters.
        unclear = len(unit.problems) > len(wrong) or bool(unit.missing_includes or unit.unread_macros)
        program = Program(tuple(kernels), tuple(reader.variables()), any_kernel=unclear)
    return Compiled(Program() if errors else program, tuple(errors), lowered)


def _write_headers(folder: Path, headers: Mapping[str, str]) -> None:
    for name, text in headers.items():
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts or "\0" in name or not place.parts:
            continue  # it cannot be included by such a name from here
        target = folder / place
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", errors="replace")
        except OSError:
            continue  # a name that is a folder of another one


def _readable(text: str) -> str:
    """Return a text without attributes that the grammar lacks, macros that stand for `__global__` replaced."""
    text = _ATTRIBUTE.sub(lambda found: " " * len(found[0]), text)
    for match in list(_GLOBAL_MACRO.finditer(text)):
        word = re.compile(rf"(?<!define )\b{match[1]}\b")
        body = match[2].strip().replace("\\", "\\\\")
        text = word.sub(body, text)
    return text


def _errors(unit: tree.Unit, name: str) -> Iterator[str]:
    """Yield what no compiler takes: what the grammar cannot read, where no macro had a hand in it."""
    macros = set(unit.macros)
    for problem in unit.problems:
        if problem.span.file == name and not macros & set(_WORD.findall(problem.text)) and _is_error(problem):
            yield f"{name}({problem.span.line}): error: {_message(problem)}"


def _is_error(problem: tree.Problem) -> bool:
    if not set(_RESERVED.findall(problem.text)) <= _KNOWN_WORDS:
        return False  # an attribute that a compiler knows, and nobody here
    return not any(word in problem.text for word in ("too deep", "include", "#", "asm"))


def _message(problem: tree.Problem) -> str:
    text = " ".join(problem.text.split())
    if text.endswith((" is missing", " is never closed", " closes nothing")):
        return text
    return f"syntax error at `{text[:80]}`"


class _Reader:
    """One unit."""

    def __init__(self, unit: tree.Unit) -> None:
        self.unit = unit
        self._behaviours = KernelBehaviours(unit)
        self.types = Types(unit.declarations)

    def kernels(self) -> Iterator[KernelType]:
        """Yield the kernels that are no templates, and the full specialisations of those that are."""
        seen: set[str] = set()
        for function in self._kernel_functions():
            if function.templates and not function.specialization:
                continue
            arguments = function.specialization
            kernel = self._kernel(function, self.types, arguments, template=bool(arguments))
            if kernel.lowered not in seen:
                seen.add(kernel.lowered)
                yield kernel

    def variables(self) -> Iterator[DeviceVariable]:
        """Yield the variables in device memory."""
        for declared in self.unit.declarations:
            if isinstance(declared, tree.Variable) and declared.device in ("device", "constant", "managed"):
                layout = self.types.layout(self._with_length(declared))
                lowered = declared.name if declared.c_linkage else mangled_variable(declared.name)
                size = 0 if layout is None else layout.size
                yield DeviceVariable(
                    declared.name, lowered, size, declared.device == "managed", self._initial(declared)
                )

    def named(self, expression: str, kernels: Sequence[KernelType]) -> KernelType | DeviceVariable | None:
        """Return what a name expression means (`k`, `&ns::k`, `k<float, 4>`, `counter`), instantiated if need be."""
        wanted = " ".join(expression.split()).removeprefix("&").strip().removeprefix("::")
        for variable in self.variables():
            if variable.name == wanted:
                return variable
        bare, _, rest = wanted.partition("<")
        bare = bare.strip()
        if not rest:
            found = next((kernel for kernel in kernels if kernel.name == bare), None)
            if found is not None:
                return _also(found, expression)
        arguments = self._arguments(rest.rpartition(">")[0]) if rest else []
        for function in self._kernel_functions():
            if function.name == bare and function.templates and not function.specialization:
                bound = self._bound(function, arguments)
                if bound is None:
                    continue
                types = self.types.with_arguments(bound)
                full = [bound.get(one.name, tree.Type("")) for one in function.templates if not one.pack]
                return _also(self._kernel(function, types, full, template=True), expression)
        if rest:
            close = [kernel for kernel in kernels if kernel.name.partition("<")[0] == bare]
            same = [kernel for kernel in close if _squeezed(kernel.name) == _squeezed(wanted)]
            if same or len(close) == 1:
                return _also((same or close)[0], expression)
        return None

    def _kernel_functions(self) -> Iterator[tree.Function]:
        definitions = [one for one in self.unit.declarations if isinstance(one, tree.Function) and one.kernel]
        with_body = {(one.name, len(one.parameters)) for one in definitions if one.body is not None}
        for function in definitions:
            if function.body is not None or (function.name, len(function.parameters)) not in with_body:
                yield function

    def _kernel(
        self, function: tree.Function, types: Types, arguments: Sequence[tree.Type | tree.Expression], template: bool
    ) -> KernelType:
        resolved = [types.resolved(parameter.type) for parameter in function.parameters]
        given = [types.resolved(one) if isinstance(one, tree.Type) else one for one in arguments]
        lowered = function.name if function.c_linkage else mangled(function.name, resolved, given, template)
        name = function.name + (f"<{', '.join(_written(one) for one in given)}>" if given else "")
        behaviour = self._behaviours.of(function, types.bound)
        return KernelType(name, lowered, self._parameters(function, types, behaviour), start=behaviour.start)

    def _parameters(
        self, function: tree.Function, types: Types, behaviour: KernelBehaviour
    ) -> tuple[KernelParameter, ...] | None:
        found: list[KernelParameter] = []
        end = 0
        for parameter in function.parameters:
            layout = types.layout(_decayed(parameter))
            if layout is None or parameter.pack:
                return None
            offset = -(-end // layout.alignment) * layout.alignment
            end = offset + layout.size
            found.append(_parameter(parameter, types, offset, layout.size, behaviour))
        return tuple(found)

    def _bound(
        self, function: tree.Function, arguments: Sequence[tree.Type | tree.Expression]
    ) -> dict[str, tree.Type | tree.Expression] | None:
        bound: dict[str, tree.Type | tree.Expression] = {}
        for position, parameter in enumerate(function.templates):
            if position < len(arguments):
                bound[parameter.name] = arguments[position]
            elif isinstance(parameter.default, tree.Expression):
                bound[parameter.name] = parameter.default
            elif not parameter.pack:
                return None
        return bound

    def _arguments(self, text: str) -> list[tree.Type | tree.Expression]:
        """Read template arguments as a typedef's."""
        unit = read_text(f"typedef {_ARGUMENT}_of<{text}> {_ARGUMENT};\n", "argument.cu")
        for declared in unit.declarations:
            if isinstance(declared, tree.Alias) and declared.name == _ARGUMENT:
                return list(declared.type.arguments)
        return []

    def _with_length(self, variable: tree.Variable) -> tree.Type:
        """Return a variable's type; `[]` has the length of its initialiser."""
        of = variable.type
        if of.array and of.array[0] is None and isinstance(variable.initializer, tree.InitList):
            length = tree.Literal_(variable.span, len(variable.initializer.items))
            return tree.Type(of.name, of.arguments, of.pointers, of.reference, of.const, [length, *of.array[1:]])
        return of

    def _initial(self, variable: tree.Variable) -> bytes:
        """Return the bytes of an initialiser made of numbers; nothing where it is more than that."""
        value = variable.initializer
        layout = self.types.layout(tree.Type(variable.type.name, variable.type.arguments, variable.type.pointers))
        if value is None or layout is None or layout.dtype.names is not None:
            return b""
        items = value.items if isinstance(value, tree.InitList) else [value]
        numbers = [one.value for one in items if isinstance(one, tree.Literal_) and isinstance(one.value, int | float)]
        if len(numbers) != len(items):
            return b""
        try:
            return b"".join(layout.dtype.type(number).tobytes() for number in numbers)
        except (OverflowError, TypeError, ValueError):
            return b""


def _decayed(parameter: tree.Parameter) -> tree.Type:
    """Return a parameter's type; an array is a pointer."""
    of = parameter.type
    if not of.array:
        return of
    return tree.Type(of.name, of.arguments, of.pointers + 1, of.reference, of.const, function=of.function)


def _also(kernel: KernelType, expression: str) -> KernelType:
    return KernelType(kernel.name, kernel.lowered, kernel.parameters, kernel.aliases | {expression})


def _squeezed(name: str) -> str:
    return "".join(name.split())


def _written(argument: tree.Type | tree.Expression) -> str:
    if isinstance(argument, tree.Type):
        return ("const " if argument.const else "") + argument.name + "*" * argument.pointers
    return str(argument.value) if isinstance(argument, tree.Literal_) else "?"


def _parameter(
    parameter: tree.Parameter, types: Types, offset: int, size: int, behaviour: KernelBehaviour
) -> KernelParameter:
    of, name = types.resolved(_decayed(parameter)), parameter.name
    if not of.pointers and not of.reference:
        layout = types.layout(of) or BYTES
        held = _pointers(of, name, types, behaviour) if layout.count == 1 and layout.dtype.names else ()
        return KernelParameter(name, offset, size, False, layout.dtype, layout.count, fields=held)
    return _pointer(name, of, types, offset, behaviour)


def _pointers(of: tree.Type, name: str, types: Types, behaviour: KernelBehaviour) -> tuple[KernelParameter, ...]:
    """Return the pointers of a structure, in the order of their places; none where places overlap (unions)."""
    found = sorted(types.pointers_in(of, name), key=lambda one: one.offset)
    if any(later.offset < one.offset + 8 for one, later in pairwise(found)):
        return ()
    return tuple(_pointer(one.path, one.type, types, one.offset, behaviour) for one in found)


def _pointer(name: str, of: tree.Type, types: Types, offset: int, behaviour: KernelBehaviour) -> KernelParameter:
    pointee = types.pointee(of)
    dtype, count = (None, 1) if pointee is None else (pointee.dtype, pointee.count)
    uses = behaviour.uses
    place = name if name in uses else name.rpartition(".")[0]  # the uses of an array that is too long are its own
    mode, flags = uses.get(place) or use_by_type(of)
    const = of.const and of.pointers <= 1
    early = behaviour.early_uses.get(place)
    used = place not in uses or uses[place] is not None
    return KernelParameter(
        name, offset, 8, True, dtype, count, const, mode, flags, early, (), used, place in behaviour.polls
    )

"""What a kernel does with its parameters' memory: on the whole, and before it may wait for the kernel before it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from msgspec.structs import replace

from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import nodes
from streamsan.kernels.flattening import Bound, FlatKernel, Flattening
from streamsan.kernels.pointer_uses import kernel_uses, named_modes
from streamsan.kernels.polled_words import polled_words
from streamsan.kernels.thread_ranges import ThreadRanges
from streamsan.kernels.uses import Start, Use
from streamsan.kernels.variable_uses import device_variables, polled_variables, reached, variable_uses
from streamsan.kernels.waiting import UnitTexts
from streamsan.vocabulary import AccessMode, SlotFlag


class KernelBehaviours:
    """Those of a unit's kernels."""

    def __init__(self, unit: tree.Unit) -> None:
        self.unit = unit
        self._known: dict[tuple[int, str], KernelBehaviour] = {}

    def of(self, function: tree.Function, bound: Bound | None = None) -> KernelBehaviour:
        """Return what a kernel does. `bound`: what its template parameters are, where that is known."""
        key = (id(function), repr(bound) if bound else "")
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = KernelBehaviour(function, self, bound or {})
        return found

    @cached_property
    def flattening(self) -> Flattening:
        """Takes structures apart."""
        return Flattening(self.unit)

    @cached_property
    def variables(self) -> Mapping[str, tree.Variable]:
        """The unit's variables of the device."""
        return device_variables(self.unit)

    @cached_property
    def texts(self) -> UnitTexts:
        """The texts of the unit's files: where something may wait is read off them."""
        return UnitTexts(self.unit)


class KernelBehaviour:
    """What one kernel does. Each answer is found when it is first asked for."""

    def __init__(self, function: tree.Function, unit: KernelBehaviours, bound: Bound) -> None:
        self._function = function
        self._unit = unit
        self._bound = bound

    @cached_property
    def _flat(self) -> FlatKernel:
        return self._unit.flattening.kernel(self._function, self._bound)

    @cached_property
    def uses(self) -> Mapping[str, Use | None]:
        """How the kernel uses the memory behind its pointer parameters, by their names.

        Pointers in structures go by their paths: `view.out`, `image.planes.2`; `image.planes` where nobody knows how
        many there are. None: the kernel never uses a pointer in a structure.
        """
        flat = self._flat
        return kernel_uses(flat.function, flat.functions, self._unit.unit.macros)

    @cached_property
    def ranges(self) -> ThreadRanges:
        """Which elements launches touch behind pointers, as `uses` names them."""
        return ThreadRanges(self._flat.function, self._flat.functions, self._unit.unit.macros)

    @cached_property
    def variable_uses(self) -> Mapping[str, Use]:
        """How the kernel uses variables of the device that it, or what it calls, names."""
        variables = self._unit.variables
        if not variables or self._function.body is None:
            return {}
        flat = self._flat
        return variable_uses(flat.function, flat.functions, self._unit.unit.macros, variables)

    @cached_property
    def talks(self) -> bool:
        """Whether its text looks as if it tells, or asks, other threads something while it runs."""
        flat = self._flat
        return any(self._unit.texts.talks(each) for each in reached(self._function, flat.functions))

    @cached_property
    def polls(self) -> frozenset[str]:
        """The parameters, paths of pointers in structures, and variables through which the kernel polls memory.

        Words that other work writes: not what its own blocks hand on to each other.
        """
        if self._function.body is None:
            return frozenset()
        flat = self._flat
        macros = self._unit.unit.macros
        found = polled_words(flat.function, flat.functions, macros, self._unit.texts)
        found |= polled_variables(flat.function, flat.functions, macros, self._unit.variables, self._unit.texts)
        uses = {**self.variable_uses, **self.uses}
        return frozenset(name for name, same in found.items() if same or _only_waits(uses.get(name)))

    @property
    def start(self) -> Start:
        """What the kernel does if it may begin early."""
        return self._beginning[0]

    @property
    def early_uses(self) -> Mapping[str, Use]:
        """What a kernel that starts PARTLY surely does before it may wait."""
        return self._beginning[1]

    @cached_property
    def _beginning(self) -> tuple[Start, Mapping[str, Use]]:
        function, texts = self._function, self._unit.texts
        found = texts.beginning(function)
        if found is None or function.body is None:
            return Start.WAITS, {}
        if found.end is None:
            return Start.AT_ONCE, {}
        first: list[tree.Statement] = []
        for statement in function.body.body:
            span = statement.span
            if span.file != function.body.span.file or _defers(statement):
                break
            if texts.offset(span.file, span.end_line, span.end_column) > found.end:
                break
            first.append(statement)
        part = replace(function, body=tree.Block(function.body.span, first))
        flat = self._unit.flattening.kernel(part, self._bound)
        macros = self._unit.unit.macros
        uses = kernel_uses(flat.function, flat.functions, macros)
        modes = named_modes(flat.function, flat.functions, macros)
        early = {name: Use(mode, use.flags) for name, mode in modes.items() if (use := uses[name]) is not None}
        return (Start.PARTLY if early or found.triggers else Start.WAITS), early


def _only_waits(use: Use | None) -> bool:
    """Tell whether a kernel that polls there changes nothing, or only by atomic operations."""
    return use is not None and (use.mode is AccessMode.READ or bool(use.flags & SlotFlag.ATOMIC))


def _defers(statement: tree.Statement) -> bool:
    """Tell whether what a statement names may be accessed later only: in a lambda, by a reference."""
    return any(
        isinstance(node, tree.Lambda) or (isinstance(node, tree.Variable) and bool(node.type.reference))
        for node in nodes(statement)
    )

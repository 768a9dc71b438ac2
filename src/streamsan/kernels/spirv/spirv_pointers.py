"""Where the pointers that a kernel gets may go in its SPIR-V, and what is done through them.

The order of instructions does not count: what a value may be, it may be everywhere. So what is found is no less than
what the kernel does. An instruction that is not known may do anything with what it is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streamsan.kernels.spirv import spirv_instructions as op
from streamsan.kernels.spirv.spirv_module import Instruction, SpirvError, SpirvModule
from streamsan.kernels.uses import Use
from streamsan.vocabulary import AccessMode, SlotFlag

MOST_OBJECTS = 1024
"""that are told apart; variables beyond are taken as one"""
FOUND = 1
"""bit of memory whose address the kernel finds in memory; the others are of parameters, then of variables"""
_NAMES_MEMORY = frozenset((op.TYPE_POINTER, op.TYPE_IMAGE, op.TYPE_PIPE, op.TYPE_STRUCT))
_OWN = frozenset((op.WORKGROUP, op.PRIVATE, op.FUNCTION_MEMORY))
"""storage classes of memory that ends with the kernel"""


class PointerUses:
    """What one kernel, with the functions that it calls, does through its parameters."""

    def __init__(self, module: SpirvModule, kernel: int) -> None:
        """Raises `SpirvError` where the module does not say, or where it takes too long to find."""
        self._module = module
        self._functions = reached_functions(module, kernel)
        self._behind: dict[int, int] = {}
        self._kept: dict[int, int] = {}
        self._returned: dict[int, int] = {}
        self._own = 0
        self._bits: dict[int, int] = {}
        self._reads = self._writes = self._updates = self._unsure = 0
        self._changed = False
        self.talks = False
        """it may tell other threads something while it runs, or ask: volatile accesses, atomics of all devices"""
        self._parameters = [self._parameter(*each) for each in module.functions[kernel].parameters]
        for variable, storage in module.variables.items():
            if storage in _OWN:
                self._behind[variable] = self._object(variable, own=True)
            elif storage not in (op.INPUT, op.UNIFORM_CONSTANT):
                self._behind[variable] = FOUND
        self._follow()

    @property
    def follows_found(self) -> bool:
        """Whether it follows addresses that it finds in memory."""
        return bool((self._reads | self._writes | self._updates) & FOUND)

    def use(self, parameter: int) -> Use | None:
        """Return how the memory behind a parameter is used; None: not at all."""
        bit = self._parameters[parameter]
        reads, writes, updates = (bool(each & bit) for each in (self._reads, self._writes, self._updates))
        if self._unsure & bit or (updates and (reads or writes)):
            return Use(AccessMode.OPAQUE)
        if updates:
            return Use(AccessMode.READ_WRITE, int(SlotFlag.ATOMIC))
        if not (reads or writes):
            return None
        return Use(AccessMode((AccessMode.READ if reads else 0) | (AccessMode.WRITE if writes else 0)))

    def _parameter(self, name: int, kind: int) -> int:
        of_type = self._module.types.get(kind)
        if of_type is not None and of_type.opcode not in _NAMES_MEMORY:
            return 0
        bit = self._object(name, own=self._module.storage(kind) in _OWN)
        self._behind[name] = bit
        return bit

    def _object(self, name: int, own: bool) -> int:
        if name not in self._bits:
            self._bits[name] = 1 << min(len(self._bits) + 1, MOST_OBJECTS)
            # Of what is taken as one none is a parameter: there are fewer of these.
            self._own |= self._bits[name] if own else 0
        return self._bits[name]

    def _follow(self) -> None:
        if len(self._parameters) >= MOST_OBJECTS:
            raise SpirvError("a kernel has too many parameters")
        bodies = [(name, self._module.functions[name].body) for name in self._functions]
        total = sum(len(body) for _, body in bodies) + 1
        self._changed = True
        while self._changed:
            self._changed = False
            self._module.spend(total)
            for name, body in bodies:
                for each in body:
                    self._instruction(name, each)

    def _instruction(self, function: int, each: Instruction) -> None:
        opcode = each.opcode
        operands = each.operands
        if opcode in op.HARMLESS or opcode in op.NUMBERS_ONLY:
            return
        passes = op.PASSES_ON.get(opcode)
        if passes is not None:
            self._join(each.result, self._any_of(operands[passes]))
        elif opcode == op.LOAD:
            self._talk_if(each, 1)
            self._join(each.result, self._load(operands[:1]))
        elif opcode == op.STORE:
            self._talk_if(each, 2)
            self._store(operands[:1], self._any_of(operands[1:2]))
        elif opcode in (op.COPY_MEMORY, op.COPY_MEMORY_SIZED):
            self._store(operands[:1], self._load(operands[1:2]))
        elif opcode == op.GROUP_ASYNC_COPY:
            self._store(operands[1:2], self._load(operands[2:3]))
        elif opcode in op.ATOMICS:
            self._atomic(each)
        elif opcode in op.READS:
            self._load(operands[:1])
        elif opcode in op.WRITES:
            self._store(operands[:1], self._any_of(operands[1:]))
        elif opcode == op.FUNCTION_CALL:
            self._call(each)
        elif opcode == op.RETURN_VALUE:
            self._returned[function] = self._grown(self._returned.get(function, 0), self._any_of(operands[:1]))
        elif opcode == op.VARIABLE:
            self._join(each.result, self._object(each.result, own=True))
            self._store((each.result,), self._any_of(operands[1:2]))
        elif opcode == op.EXT_INST:
            self._extended(each)
        elif opcode in (op.CONTROL_BARRIER, op.MEMORY_BARRIER):
            scope = operands[1 if opcode == op.CONTROL_BARRIER else 0 :][:1]
            self.talks = self.talks or self._is_of_all_devices(scope)
        else:
            self._unknown(each)

    def _atomic(self, each: Instruction) -> None:
        where = self._any_of(each.operands[:1])
        self._updates = self._grown(self._updates, where)
        self.talks = self.talks or self._is_of_all_devices(each.operands[1:2])
        self._put(where, self._any_of(each.operands[2:]))
        if each.result:
            self._join(each.result, self._get(where))

    def _call(self, each: Instruction) -> None:
        callee = self._module.functions.get(each.operands[0]) if each.operands else None
        if callee is None or not callee.body:
            self._unknown(each)
            return
        for (name, _), given in zip(callee.parameters, each.operands[1:], strict=False):
            self._join(name, self._behind.get(given, 0))
        self._join(each.result, self._returned.get(each.operands[0], 0))

    def _extended(self, each: Instruction) -> None:
        if len(each.operands) < 2:
            self._unknown(each)
            return
        family = self._module.instruction_sets.get(each.operands[0], "")
        number, given = each.operands[1], each.operands[2:]
        if family.startswith(op.DEBUG_SETS) or (family == op.STANDARD_SET and number in op.STANDARD_WITHOUT_MEMORY):
            return
        known = op.STANDARD_CALLS.get(number) if family == op.STANDARD_SET else None
        if known is None:
            self._unknown(each, given)  # its number is no name of a value
        elif known.writes:
            self._store(given[known.pointer : known.pointer + 1], 0)
        else:
            self._load(given[known.pointer : known.pointer + 1])

    def _unknown(self, each: Instruction, names: Iterable[int] | None = None) -> None:
        given = self._any_of(each.words if names is None else names)
        if given:
            self.talks = self.talks or bool(given & ~FOUND)
            self._escape(given)
            if each.result and each.words[0] in self._module.types:
                self._join(each.result, given | FOUND)

    def _load(self, pointer: Iterable[int]) -> int:
        where = self._any_of(pointer)
        self._reads = self._grown(self._reads, where)
        return self._get(where)

    def _store(self, pointer: Iterable[int], value: int) -> None:
        where = self._any_of(pointer)
        self._writes = self._grown(self._writes, where)
        self._put(where, value)

    def _get(self, where: int) -> int:
        """Return what may lie in memory."""
        known = where & self._own & ~self._unsure
        value = FOUND if where & ~known else 0
        for bit in _bits_of(known):
            value |= self._kept.get(bit, 0)
        return value

    def _put(self, where: int, value: int) -> None:
        """Keep a value in memory. What is stored where others may read it may be used in any way."""
        if not value:
            return
        known = where & self._own & ~self._unsure
        if where & ~known or not where:
            self._escape(value)
        for bit in _bits_of(known):
            self._kept[bit] = self._grown(self._kept.get(bit, 0), value)

    def _escape(self, value: int) -> None:
        new = value & ~self._unsure & ~FOUND
        while new:
            self._unsure |= new
            self._changed = True
            inside = 0
            for bit in _bits_of(new & self._own):
                inside |= self._kept.get(bit, 0)
            new = inside & ~self._unsure & ~FOUND

    def _join(self, name: int, value: int) -> None:
        if value:
            self._behind[name] = self._grown(self._behind.get(name, 0), value)

    def _grown(self, before: int, more: int) -> int:
        after = before | more
        self._changed = self._changed or after != before
        return after

    def _any_of(self, names: Iterable[int]) -> int:
        value = 0
        for name in names:
            value |= self._behind.get(name, 0)
        return value

    def _talk_if(self, each: Instruction, operand: int) -> None:
        """A volatile access of memory that others see may be a flag's."""
        memory = each.operands[operand : operand + 1]
        if memory and memory[0] & op.VOLATILE and self._any_of(each.operands[:1]) & ~self._own:
            self.talks = True

    def _is_of_all_devices(self, scope: tuple[int, ...]) -> bool:
        return not scope or self._module.constants.get(scope[0], op.CROSS_DEVICE) == op.CROSS_DEVICE


def reached_functions(module: SpirvModule, kernel: int) -> list[int]:
    """Return a kernel's function and those that it calls, which have a body. Raises `SpirvError`."""
    if kernel not in module.functions or not module.functions[kernel].body:
        raise SpirvError("a kernel has no body")
    found = [kernel]
    known = {kernel}
    for name in found:
        for each in module.functions[name].body:
            callee = each.operands[0] if each.opcode == op.FUNCTION_CALL and each.operands else 0
            if callee not in known and callee in module.functions and module.functions[callee].body:
                known.add(callee)
                found.append(callee)
    return found


def _bits_of(mask: int) -> Iterator[int]:
    while mask:
        bit = mask & -mask
        yield bit
        mask ^= bit

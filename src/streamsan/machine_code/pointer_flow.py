"""Which registers may hold an address that came from which parameter: a forward data-flow analysis.

An address takes a pair of registers. Only the upper one is followed: an offset that is added to a pointer reaches it by
a carry alone, or as the sign of a number, so the upper half says whose pointer it is. A value is a set of *origins* (a
bit each): the words of the parameters, variables of the device, memory of the thread or the block itself, and memory
that a pointer was loaded from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush

from msgspec import Struct, field

from streamsan.machine_code import constant_bank, opcodes
from streamsan.machine_code.constant_bank import ConstantBank, ConstantVariable
from streamsan.machine_code.control_flow import TooManyWaysError, blocks_of
from streamsan.machine_code.cubin import WORD_BYTES, KernelLayout
from streamsan.machine_code.disassembler import Instruction
from streamsan.machine_code.instruction_operands import Address, Constant, Operand, Register, Symbol
from streamsan.machine_code.instructions import Step, steps_of

OWN = 1
"""memory of the thread or the block itself"""
FOUND = 2
"""an address that was loaded from memory"""
_FIRST = 2
"""the first bit of an origin that has a name"""

_HALF = 4
_SIGN_SHIFT = 0x1F
_RETURNED = 4
"""the pair of registers in which a function returns an address"""

MOST_MERGES = 400_000
"""of what is known at the end of one block into another: ten seconds"""
Registers = dict[int, int]
"""register -> origins of what it holds; a register that is not there holds no address"""


class Touched(Struct):
    """Through what a function reads and writes: sets of origins."""

    reads: int = 0
    writes: int = 0
    updates: int = 0
    """by atomic operations"""
    unsure: int = 0
    """read, written, both or neither"""
    any_constant: bool = False
    """a place in constant memory comes from a register alone: any variable there may be read"""
    anything: bool = False
    """an address came from nowhere that is known, or code that is not known was called: any parameter may be used"""


class PointerFlow(Struct):
    """The analysis of one kernel; `run` fills `touched`."""

    layout: KernelLayout
    addresses: Mapping[int, str]
    """offset in constant bank 4 -> symbol"""
    constants: Sequence[ConstantVariable] = ()
    touched: Touched = field(default_factory=Touched)
    names: list[int | str] = field(default_factory=list)
    """of the origins from bit `_FIRST` on: offsets of words of the parameters, names of symbols; a word twice where it
    is also one of those that a register chooses among"""
    places: dict[int, int] = field(default_factory=dict)
    """index of an instruction that touches memory of the device -> origins of its address"""
    _bits: dict[tuple[int | str, bool], int] = field(default_factory=dict)
    _shared: int = 0
    _local: dict[int, int] = field(default_factory=dict)
    _local_anywhere: int = 0
    _memory_changed: bool = False
    _at: int = 0

    def run(self, instructions: Sequence[Instruction], labels: Mapping[str, int]) -> Touched:
        """Follow every path until nothing new is learnt; then look what is touched.

        Of code that would take too long to read, anything may be.
        """
        self.touched = Touched(anything=True)
        try:
            blocks, whole = blocks_of(instructions, labels)
        except TooManyWaysError:
            return self.touched
        steps = [tuple(steps_of(instructions[block.begin : block.end])) for block in blocks]
        before: list[Registers | None] = [None] * len(blocks)
        before[0] = {}
        todo = [0]
        merges = 0
        while todo:
            # In the order of the text: a loop is left when it has taught all it can.
            number = heappop(todo)
            registers = self._pass(steps[number], before[number] or {})
            merges += len(blocks[number].successors)
            if merges > MOST_MERGES:
                return self.touched
            for follower in blocks[number].successors:
                if _merge(before, follower, registers) and follower not in todo:
                    heappush(todo, follower)
            if not todo and self._memory_changed:
                self._memory_changed = False
                todo = [each for each, state in enumerate(before) if state is not None]
        self.touched = Touched(anything=not whole)
        self.places.clear()
        for block, each, state in zip(blocks, steps, before, strict=True):
            if state is not None:
                self._pass(each, state, block.begin)
                self._read_constants(each)
        return self.touched

    def _read_constants(self, steps: Sequence[Step]) -> None:
        if not self.constants:
            return
        bank = ConstantBank(self.constants)
        for step in steps:
            for operand in step.operands:
                if not isinstance(operand, Constant) or operand.bank != constant_bank.BANK:
                    continue
                if operand.index is not None:
                    named = bank.named(operand.offset)
                    self.touched.any_constant |= named is None
                    read: Sequence[ConstantVariable] = [] if named is None else [named]
                else:
                    size = constant_bank.bytes_read(step.name, step.suffixes, operand is step.operands[-1])
                    read = bank.among(operand.offset, operand.offset + size)
                for variable in read:
                    self.touched.reads |= self.origin(variable.symbol)

    @property
    def shared(self) -> int:
        """Origins of addresses that are kept in memory of the block."""
        return self._shared

    def _pass(self, steps: Sequence[Step], before: Registers, begin: int = 0) -> Registers:
        registers = dict(before)
        for self._at, step in enumerate(steps, begin):
            self._step(step, registers)
        return registers

    def origin(self, name: int | str, *, chosen: bool = False) -> int:
        """The bit of a parameter's word or of a symbol. `chosen`: of a word that a register chose among others."""
        bit = self._bits.get((name, chosen))
        if bit is None:
            bit = self._bits[name, chosen] = 1 << (_FIRST + len(self.names))
            self.names.append(name)
        return bit

    def named(self, origins: int) -> list[int | str]:
        """The parameters' words and symbols among `origins`, each once."""
        return list(dict.fromkeys(name for at, name in enumerate(self.names) if origins >> (_FIRST + at) & 1))

    # One instruction ------------------------------------------------------------------------------------------------

    def _step(self, step: Step, registers: Registers) -> None:
        name, operands, memory = step.name, step.operands, step.memory
        if name in opcodes.NO_RESULT:
            if name == "CALL":
                self._call(operands, registers)
        elif name in opcodes.LOCAL or name in opcodes.SHARED:
            self._own_memory(step, registers)
        elif memory and name not in opcodes.OF_RESOURCES:
            self._device_memory(step, registers)
        elif operands and isinstance(operands[0], Register) and operands[0].number is not None:
            for at, origins in enumerate(self._results(step, operands[1:], registers)):
                _write(registers, operands[0].number + at, origins, step.maybe)

    def _results(self, step: Step, sources: Sequence[Operand], registers: Registers) -> list[int]:
        """The origins of the registers that the instruction writes, from its first one on."""
        name, suffixes = step.name, step.suffixes
        if name in opcodes.CONSTANT_LOADS:
            return self._constant_load(step.width, sources)
        if step.window:
            return [OWN]
        if name in opcodes.NUMBERS:
            return [0] * opcodes.NUMBERS[name]
        if name in ("IMAD", "UIMAD"):
            return self._multiply_add(suffixes, sources, registers)
        if name in ("LEA", "ULEA"):
            # LEA.HI.X: the upper half of a scaled pair, plus the second source.
            return [self._origins(sources[1], registers) if len(sources) > 1 else 0]
        if name in ("SHF", "USHF") and "S32" in suffixes and "HI" in suffixes and _SIGN_SHIFT in sources:
            return [0]
        if name in opcodes.COPIES:
            wide = "64" in suffixes
            low = self._union(sources, registers, 0)
            return [low, self._union(sources, registers, 1)] if wide else [low]
        # In no family: whatever it writes, it may be any of its operands.
        everything = self._union(sources, registers, 0) | self._union(sources, registers, 1)
        return [everything | FOUND] * 4 if everything else [0]

    def _multiply_add(self, suffixes: Sequence[str], sources: Sequence[Operand], registers: Registers) -> list[int]:
        if len(sources) < 3:
            return [self._union(sources, registers, 0)]
        first, second, addend = sources[:3]
        if "WIDE" in suffixes:
            return [0, self._origins(addend, registers, 1)]
        origins = self._origins(addend, registers)
        if "X" in suffixes or 1 in (first, second):
            origins |= self._origins(first, registers) | self._origins(second, registers)
        return [origins]

    def _constant_load(self, words: int, sources: Sequence[Operand]) -> list[int]:
        source = next((each for each in sources if isinstance(each, Constant)), None)
        if source is None:
            return [FOUND] * words
        return [self._constant(source, _HALF * word) for word in range(words)]

    # Values ---------------------------------------------------------------------------------------------------------

    def _union(self, sources: Sequence[Operand], registers: Registers, half: int) -> int:
        origins = 0
        for source in sources:
            origins |= self._origins(source, registers, half)
        return origins

    def _origins(self, source: Operand, registers: Registers, half: int = 0) -> int:
        if isinstance(source, Register):
            return 0 if source.number is None else registers.get(source.number + half, 0)
        if isinstance(source, Constant):
            return self._constant(source, _HALF * half)
        if isinstance(source, Symbol):
            return self.origin(source.name)
        return 0

    def _constant(self, source: Constant, further: int) -> int:
        if source.bank == 0:
            if source.index is not None:
                return self._of_structures()
            return self._parameter_half(source.offset + further)
        if source.bank == 4:
            if source.index is not None:
                return FOUND
            offset = source.offset + further
            symbol = self.addresses.get(offset - _HALF)
            return self.origin(symbol) if symbol is not None and offset % WORD_BYTES == _HALF else 0
        # Constants of the program: numbers, or addresses that someone copied there.
        return FOUND

    def _parameter_half(self, offset: int) -> int:
        place = offset - self.layout.base
        if place < 0 or not self.layout.parameters:
            return OWN if offset % WORD_BYTES == _HALF else 0
        word = place - _HALF
        return self.origin(word) if any(word in parameter.words for parameter in self.layout.parameters) else 0

    def _words_of_structures(self) -> Iterator[int]:
        for parameter in self.layout.parameters:
            if parameter.size > WORD_BYTES:
                yield from parameter.words

    def _of_structures(self) -> int:
        """A word of the parameters is chosen by a register: one of an array, so of a parameter of more than a word."""
        origins = 0
        for word in self._words_of_structures():
            origins |= self.origin(word, chosen=True)
        return origins

    def _chosen_among(self, origins: int) -> int:
        """What a register chooses among: where an array of a structure was copied, a word of it is one of many."""
        if origins & (origins - 1):
            for word in self._words_of_structures():
                bit = self._bits.get((word, False), 0)
                if origins & bit:
                    origins = origins & ~bit | self.origin(word, chosen=True)
        return origins

    # Memory ---------------------------------------------------------------------------------------------------------

    def _bases(self, address: Address, registers: Registers) -> int:
        """Whose memory it is. 0: not known."""
        origins = 0
        for register in address.registers:
            if register.number is not None and not register.narrow:
                origins |= registers.get(register.number + 1, 0)
        self.places[self._at] = origins
        return origins

    def _device_memory(self, step: Step, registers: Registers) -> None:
        touched, name, suffixes, memory, maybe = self.touched, step.name, step.suffixes, step.memory, step.maybe
        width, values = step.width, step.values
        if name in opcodes.READS:
            bases = self._use(memory[-1], registers, reads=True)
            held = (self._shared | self._all_local()) if bases & OWN else 0
            found = FOUND if bases & ~OWN or not bases else 0
            if values and values[0].number is not None:
                for at in range(width):
                    _write(registers, values[0].number + at, held | found, maybe)
        elif name in opcodes.WRITES:
            bases = self._use(memory[0], registers, writes=True)
            self._keep(bases, self._stored(values, width, registers))
        elif name in opcodes.UPDATES:
            bases = self._bases(memory[0], registers)
            touched.updates |= bases
            touched.anything |= not bases
            self._keep(bases, self._stored(values, width, registers))
            if name in ("ATOM", "ATOMG") and values and values[0].number is not None:
                for at in range(width):
                    _write(registers, values[0].number + at, FOUND, True)
        elif name in opcodes.COPIES_TO_SHARED:
            self._use(memory[-1], registers, reads=True)
            self._remember_shared(FOUND)
        elif name in opcodes.BULK_COPIES and len(memory) > 1 and suffixes[:2] in (("S", "G"), ("G", "S")):
            outward = suffixes[:2] == ("G", "S")
            self._use(memory[0 if outward else 1], registers, reads=not outward or "RED" in name, writes=outward)
            self._remember_shared(FOUND)
        else:
            for address in memory:
                for register in address.registers:
                    if register.number is not None:
                        touched.unsure |= registers.get(register.number, 0) | registers.get(register.number + 1, 0)
            touched.anything = True

    def _use(self, address: Address, registers: Registers, *, reads: bool = False, writes: bool = False) -> int:
        bases = self._bases(address, registers)
        if not bases:
            self.touched.anything = True
        if reads:
            self.touched.reads |= bases
        if writes:
            self.touched.writes |= bases
        return bases

    def _stored(self, values: Sequence[Register], width: int, registers: Registers) -> int:
        """The origins of the addresses that are stored. One is 8 bytes, and aligned: no store of 4 has a whole one."""
        origins = 0
        if width < 2:
            return 0
        for value in values:
            if value.number is not None:
                for at in range(1, width, 2):
                    origins |= registers.get(value.number + at, 0)
        return origins

    def _keep(self, bases: int, stored: int) -> None:
        """A value went to memory. Where others may load it, nobody knows what they do with it."""
        if not stored:
            return
        if bases & OWN:
            self._remember_shared(stored)
            self._remember_local(None, stored)
        if bases & ~OWN or not bases:
            self.touched.unsure |= stored & ~OWN

    def _own_memory(self, step: Step, registers: Registers) -> None:
        name, values = step.name, step.values
        width = 4 if name == "LDSM" else step.width
        cell = _stack_cell(step.memory)
        if name.startswith(("ST", "UST")):
            stored = self._stored(values, width, registers)
            if name == "STL" and cell is not None:
                for at in range(width):
                    origins = registers.get(values[0].number + at, 0) if values and values[0].number is not None else 0
                    self._remember_local(cell + _HALF * at, origins)
            elif name == "STL":
                self._remember_local(None, stored)
            else:
                self._remember_shared(stored)
            return
        if not values or values[0].number is None:
            return
        for at in range(width):
            if name == "LDL" and cell is not None:
                origins = self._local.get(cell + _HALF * at, 0) | self._local_anywhere
            elif name == "LDL":
                origins = self._chosen_among(self._all_local())
            else:
                origins = self._shared
            # Also what it held: the load may be under a predicate, and costs nothing to keep.
            _write(registers, values[0].number + at, origins, True)

    def _remember_shared(self, origins: int) -> None:
        if origins & ~self._shared:
            self._shared |= origins
            self._memory_changed = True

    def _remember_local(self, cell: int | None, origins: int) -> None:
        known = self._local_anywhere if cell is None else self._local.get(cell, 0)
        if not origins & ~known:
            return
        self._memory_changed = True
        if cell is None:
            self._local_anywhere |= origins
        else:
            self._local[cell] = known | origins

    def _all_local(self) -> int:
        origins = self._local_anywhere
        for each in self._local.values():
            origins |= each
        return origins

    def _call(self, operands: Sequence[Operand], registers: Registers) -> None:
        """A call by an address in registers: of the driver's own functions, or of anything."""
        for each in operands:
            if isinstance(each, Register) and each.number is not None:
                origins = registers.get(each.number + 1, 0)
                names = self.named(origins)
                if not names or origins & (OWN | FOUND) or not opcodes.KNOWN_CALLS.issuperset(map(str, names)):
                    self.touched.anything = True
                # What `malloc` returns.
                registers[_RETURNED + 1] = FOUND


def _stack_cell(memory: Sequence[Address]) -> int | None:
    """The place on the stack, where it is a constant distance from the stack pointer (R1)."""
    if len(memory) != 1 or [each.number for each in memory[0].registers] not in ([1], []):
        return None
    return memory[0].constant


def _write(registers: Registers, number: int, origins: int, maybe: bool) -> None:
    if maybe:
        origins |= registers.get(number, 0)
    if origins:
        registers[number] = origins
    else:
        registers.pop(number, None)


def _merge(before: list[Registers | None], number: int, registers: Registers) -> bool:
    """Add what is known at the end of a block to what is known before another; whether that was more."""
    known = before[number]
    if known is None:
        before[number] = dict(registers)
        return True
    grown = False
    for register, origins in registers.items():
        old = known.get(register, 0)
        if origins & ~old:
            known[register] = old | origins
            grown = True
    return grown

"""What each kernel of a cubin does with the words of its parameters."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from streamsan.kernels.uses import Use
from streamsan.machine_code import opcodes
from streamsan.machine_code.cubin import Cubin, KernelLayout
from streamsan.machine_code.handle_flow import HandleFlow
from streamsan.machine_code.image_instructions import is_of_surface
from streamsan.machine_code.kernel_code import KernelCode, kernels_of
from streamsan.machine_code.pointer_flow import FOUND, PointerFlow, Touched
from streamsan.machine_code.poll_loops import polls_in
from streamsan.machine_code.tensor_maps import READS, UPDATES, WRITES
from streamsan.vocabulary import AccessMode, SlotFlag


class KernelAccesses(Struct, frozen=True):
    """What a kernel does through the words of its parameters, by their offset in the argument buffer."""

    words: dict[int, Use]
    """the words that it follows as addresses, and how. Others it may use as numbers, compare, or leave alone."""
    variables: dict[str, Use]
    """the variables of the device that it names, by symbol"""
    follows_found: bool = False
    """it also follows addresses that it loads from memory"""
    whole: bool = True
    """False: something in the code is not known, and any word may be used in any way"""
    talks: bool = False
    """it has accesses or fences of the whole system: it may set or poll a flag that the host sees while it runs"""
    polls: frozenset[int | str] = frozenset()
    """words of the parameters, and variables, through which it polls memory that others may write while it runs"""
    constants: frozenset[str] = frozenset()
    """those of the variables that lie in constant memory"""
    chosen: frozenset[int] = frozenset()
    """words of an array that it follows only by an index: those of them that no index of a launch names, it does not"""

    images: dict[int, Use] = {}
    """the words that are numbers of texture and surface objects, and how it uses the memory behind these"""
    chosen_images: frozenset[int] = frozenset()
    """those of an array that it goes by only by an index"""
    surfaces: frozenset[int] = frozenset()
    """those that are numbers of surface objects, by the instructions"""

    def use(self, offset: int) -> Use | None:
        """How the word at `offset` is used; None: nothing is reached through it."""
        if not self.whole:
            return Use(AccessMode.OPAQUE)
        return self.words.get(offset)


def accesses_of(content: bytes, cubin: Cubin, symbols: Iterable[str] | None = None) -> dict[str, KernelAccesses]:
    """Read kernels (those of `symbols`, or all) of a cubin, whose bytes are `content`. Raises `DisassemblyError`."""
    return {symbol: kernel_accesses(code) for symbol, code in kernels_of(content, cubin, symbols).items()}


def kernel_accesses(code: KernelCode) -> KernelAccesses:
    """Read one kernel."""
    flow = code.pointer_flow
    found = replace(_accesses(code.layout, flow), talks=any(_is_of_system(each.opcode) for each in code.instructions))
    if code.handle_flow is not None:
        found = _with_images(found, code, code.handle_flow)
    if code.constants:
        symbols = [each.symbol for each in code.constants]
        if flow.touched.any_constant:
            for symbol in symbols:
                found.variables.setdefault(symbol, Use(AccessMode.OPAQUE))
        found = replace(found, constants=frozenset(symbols) & found.variables.keys())
    places = [flow.places.get(at, 0) for at in polls_in(code.instructions, code.labels)]
    if places:
        found = replace(found, polls=frozenset(name for each in places for name in flow.named(each)))
    if code.tensor_maps is None:
        # Any word that is not followed otherwise may be in a map, or lead to one.
        for parameter in code.layout.parameters:
            for word in parameter.words:
                found.words.setdefault(word, Use(AccessMode.OPAQUE))
        return found
    for word, ways in code.tensor_maps.items():
        use = _use_of(bool(ways & READS), bool(ways & WRITES), bool(ways & UPDATES))
        found.words[word] = use if found.words.get(word, use) == use else Use(AccessMode.OPAQUE)
    return found


def _with_images(found: KernelAccesses, code: KernelCode, flow: HandleFlow) -> KernelAccesses:
    ways: dict[int, set[str]] = {}
    for at, words in flow.accesses().items():
        for word in words:
            ways.setdefault(word, set()).add(code.instructions[at].opcode.partition(".")[0])
    return replace(
        found,
        follows_found=found.follows_found or flow.any_found,
        images={
            word: _use_of(
                not opcodes.IMAGE_READS.isdisjoint(names),
                not opcodes.IMAGE_WRITES.isdisjoint(names),
                not opcodes.IMAGE_UPDATES.isdisjoint(names),
            )
            for word, names in ways.items()
        },
        chosen_images=frozenset(word for word in ways if flow.one_of_many(word)),
        surfaces=frozenset(word for word, names in ways.items() if any(map(is_of_surface, names))),
    )


def _is_of_system(opcode: str) -> bool:
    """Tell whether it is a strong access (`volatile` as well) or a fence that other processors are to see.

    >>> _is_of_system("ST.E.STRONG.SYS"), _is_of_system("MEMBAR.SC.SYS"), _is_of_system("ATOMG.E.ADD.STRONG.GPU")
    (True, True, False)
    """
    name, *suffixes = opcode.split(".")
    # Of older devices all accesses are .SYS, plain ones too.
    return "MMIO" in suffixes or ("SYS" in suffixes and ("STRONG" in suffixes or name == "MEMBAR"))


def _accesses(layout: KernelLayout, flow: PointerFlow) -> KernelAccesses:
    touched = flow.touched
    all_touched = touched.reads | touched.writes | touched.updates | touched.unsure
    followed = flow.named(all_touched)
    uses = {name: _use(flow.origin(name) | flow.origin(name, chosen=True), touched) for name in followed}
    return KernelAccesses(
        {name: use for name, use in uses.items() if isinstance(name, int)},
        {name: use for name, use in uses.items() if isinstance(name, str)},
        bool((touched.reads | touched.writes | touched.updates) & FOUND),
        # Without its place in constant memory no parameter was told from another.
        bool(layout.base or not layout.parameters) and not touched.anything,
        chosen=frozenset(name for name in followed if isinstance(name, int) and not all_touched & flow.origin(name)),
    )


def _use(origin: int, touched: Touched) -> Use:
    reads, writes, updates = (bool(each & origin) for each in (touched.reads, touched.writes, touched.updates))
    return Use(AccessMode.OPAQUE) if touched.unsure & origin else _use_of(reads, writes, updates)


def _use_of(reads: bool, writes: bool, updates: bool) -> Use:
    if updates and (reads or writes):
        return Use(AccessMode.OPAQUE)
    if updates:
        return Use(AccessMode.READ_WRITE, SlotFlag.ATOMIC)
    if reads and writes:
        return Use(AccessMode.READ_WRITE)
    return Use(AccessMode.WRITE if writes else AccessMode.READ)

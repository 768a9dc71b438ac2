"""Reads the launched kernels of a trace: each image of code once, several at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from msgspec import Struct, field

from streamsan.kernels.uses import Use
from streamsan.launched_code.image_folder import ImageFolder, is_module, is_text
from streamsan.launched_code.kernel_modules import read_module_kernels
from streamsan.launched_code.kernel_texts import read_text_kernels
from streamsan.launched_code.program_kernels import NOT_IN_VIEW
from streamsan.launched_code.remembered_kernels import (
    ProgramReach,
    ReadKernel,
    ReadKernels,
    RememberedKernels,
    read_kernel,
)
from streamsan.machine_code.cubin import CubinError, read_cubin
from streamsan.machine_code.disassembler import DisassemblyError, NoDisassemblerError
from streamsan.machine_code.kernel_accesses import KernelAccesses
from streamsan.machine_code.kernel_code import KernelCode, kernels_of
from streamsan.vocabulary import AccessMode, SlotFlag

AT_ONCE = 2
MOST_IMAGES = 1000
"""that are read, whatever is known of them already: the same ones on every machine; a thousand new ones take minutes"""

Kernel = tuple[str, tuple[str, ...]]
"""the symbol, and the names of the images that it may be in"""
Progress = Callable[[int, int], None]
"""called with how many images were read, and how many there are"""

NOT_KEPT = "their code was not kept"
NO_DISASSEMBLER = "no nvdisasm (it comes with the CUDA toolkit, or as `pip install nvidia-cuda-nvdisasm`)"
MISSING = "their code is not beside the trace"
DAMAGED = "their code cannot be read"
REFUSED = "nvdisasm refuses their code"
NOT_THERE = "the code kept has no such kernel"
TOO_MANY = f"there are more than {MOST_IMAGES:,} images of code"
NOT_UNDERSTOOD = "their code does something that is not known"
NOT_ALL_OF_THE_TEXT = "their text includes files, asks which compiler it is, or cannot be read"
NO_MODULE = "their SPIR-V cannot be read"


class KernelReadings(Struct, frozen=True):
    """What was read of kernels."""

    read: Mapping[Kernel, KernelAccesses] = field(default_factory=dict)
    """those of which all is known"""
    codes: Mapping[Kernel, KernelCode] = field(default_factory=dict)
    """the code of those, where it is known which it is"""
    reaches: Mapping[Kernel, ProgramReach] = field(default_factory=dict)
    """how far those reach that were read from a text or a module of SPIR-V, where it is known which it is"""
    unread: Mapping[Kernel, str] = field(default_factory=dict)
    """the others, with the reason"""


class _Image(Struct, frozen=True):
    """What was read of one image."""

    kernels: ReadKernels = field(default_factory=dict)
    reason: str = ""
    """why those that are not there were not read"""


def read_kernels(
    kernels: Iterable[Kernel], folder: ImageFolder | None, remembered: RememberedKernels, progress: Progress | None
) -> KernelReadings:
    """Read kernels from the images in a folder. One that may be in several images does what it does in any of them."""
    kernels = list(dict.fromkeys(kernels))
    wanted: dict[str, set[str]] = {}
    for symbol, names in kernels if folder is not None else ():
        for name in names:
            if name not in NOT_IN_VIEW:
                wanted.setdefault(name, set()).add(symbol)
    images = {} if folder is None else _images(wanted, folder, remembered, progress)
    read: dict[Kernel, KernelAccesses] = {}
    codes: dict[Kernel, KernelCode] = {}
    reaches: dict[Kernel, ProgramReach] = {}
    unread: dict[Kernel, str] = {}
    for kernel in kernels:
        found = _of_kernel(kernel, images)
        if isinstance(found, str):
            unread[kernel] = found
            continue
        read[kernel] = found[0].accesses if len(found) == 1 else _any_of([each.accesses for each in found])
        if len(found) == 1 and found[0].code is not None:
            codes[kernel] = found[0].code
        if len(found) == 1 and found[0].reach is not None:
            reaches[kernel] = found[0].reach
    return KernelReadings(read, codes, reaches, unread)


def _images(
    wanted: Mapping[str, set[str]], folder: ImageFolder, remembered: RememberedKernels, progress: Progress | None
) -> dict[str, _Image]:
    def read(name: str) -> _Image:
        return _read(name, wanted[name], folder, remembered)

    images: dict[str, _Image] = dict.fromkeys(list(wanted)[MOST_IMAGES:], _Image(reason=TOO_MANY))
    left = list(wanted)[:MOST_IMAGES]
    pool = ThreadPoolExecutor(AT_ONCE)  # most of the time goes into nvdisasm, a process of its own
    try:
        for number, (name, image) in enumerate(zip(left, pool.map(read, left), strict=True), 1):
            images[name] = image
            if progress is not None:
                progress(number, len(left))
    finally:
        pool.shutdown(cancel_futures=True)
    return images


def _read(name: str, symbols: set[str], folder: ImageFolder, remembered: RememberedKernels) -> _Image:
    content = folder.read(name)
    if content is None:
        return _Image(reason=MISSING)
    if is_text(name):
        return _read_program(read_text_kernels, content, symbols, NOT_ALL_OF_THE_TEXT)
    if is_module(name):
        return _read_program(read_module_kernels, content, symbols, NO_MODULE)
    known = remembered.of_image(content)
    new = symbols - known.keys()
    if not new:
        return _Image(known)
    try:
        codes = kernels_of(content, read_cubin(content), sorted(new))
        found = {symbol: read_kernel(code) for symbol, code in codes.items()}
    except NoDisassemblerError:
        return _Image(known, NO_DISASSEMBLER)
    except DisassemblyError:
        return _Image(known, REFUSED)
    except (CubinError, LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return _Image(known, DAMAGED)  # whatever the bytes are, the others are read
    remembered.add(content, found)
    return _Image({**known, **found}, NOT_THERE)


def _read_program(
    read: Callable[[bytes, list[str]], ReadKernels], content: bytes, symbols: set[str], unreadable: str
) -> _Image:
    try:
        return _Image(read(content, sorted(symbols)), NOT_THERE)
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return _Image(reason=unreadable)  # whatever it is, the others are read


def _of_kernel(kernel: Kernel, images: Mapping[str, _Image]) -> list[ReadKernel] | str:
    """Return what each of the images that the kernel may be in says of it, or why it is not known."""
    symbol, names = kernel
    if not names:
        return NOT_KEPT
    found: list[ReadKernel] = []
    for name in names:
        image = images.get(name, _Image(reason=NOT_IN_VIEW.get(name, MISSING)))
        if symbol in image.kernels:
            found.append(image.kernels[symbol])
        elif image.reason != NOT_THERE:
            return image.reason
    if not found:
        return NOT_THERE
    return found if all(each.accesses.whole for each in found) else NOT_UNDERSTOOD


def _any_of(found: Sequence[KernelAccesses]) -> KernelAccesses:
    """Return what one of several kernels does, when it is not known which."""
    words = {offset: either(each.words.get(offset) for each in found) for each in found for offset in each.words}
    images = {offset: either(each.images.get(offset) for each in found) for each in found for offset in each.images}
    names = {name: either(each.variables.get(name) for each in found) for each in found for name in each.variables}
    return KernelAccesses(
        {offset: use for offset, use in words.items() if use is not None},
        {name: use for name, use in names.items() if use is not None},
        any(each.follows_found for each in found),
        talks=any(each.talks for each in found),
        polls=frozenset(name for each in found for name in each.polls),
        constants=frozenset(name for each in found for name in each.constants),
        chosen=frozenset(
            offset for offset in words if all(offset in each.chosen or offset not in each.words for each in found)
        ),
        images={offset: use for offset, use in images.items() if use is not None},
        # Where only one of them goes by an object, nobody knows whether it is gone by.
        chosen_images=frozenset(
            offset for offset in images if not all(offset in each.images.keys() - each.chosen_images for each in found)
        ),
        surfaces=frozenset(offset for each in found for offset in each.surfaces),
    )


def either(uses: Iterable[Use | None]) -> Use | None:
    """Return what is done where one or several of these are done: atomic only if all are. None: nothing is."""
    known = [use for use in uses if use is not None]
    if not known:
        return None
    atomic = {bool(use.flags & SlotFlag.ATOMIC) for use in known}
    if len(atomic) > 1 or any(use.mode is AccessMode.OPAQUE for use in known):
        return Use(AccessMode.OPAQUE)
    mode = AccessMode(0)
    for use in known:
        mode = AccessMode(mode | use.mode)
    return Use(mode, int(SlotFlag.ATOMIC) if atomic == {True} else 0)

"""The sites of a recording: whole stacks, of which reports show the frame that the programmer wrote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from streamsan.trace.function_names import same_function, short_name
from streamsan.trace.modules import Module
from streamsan.trace.own_code import (
    is_own_module,
    is_own_source,
    is_runtime_function,
    is_runtime_module,
    is_stub,
    library_name,
    runtime_api,
)
from streamsan.trace.site import UNKNOWN_SITE, Site
from streamsan.trace.symbols import Address, Frame

DEEPEST_STACK = 512
"""Frames of a stack that are looked at."""
_EXITS = ("exit", "quick_exit")


class FrameSource(Protocol):
    """Knows what is at an address of a module."""

    def __call__(self, module: Module, offset: int) -> Sequence[Frame]:
        """Return the frames there, innermost first; none when not known."""


class _Candidate(Struct, frozen=True):
    """A frame of a stack, and what speaks for showing it."""

    site: Site
    own: bool
    """its source, or without a line its module, is the program's own"""
    shown: bool
    """not what nvcc generates around a launch, and not the runtime's own"""
    module: str
    """path of the module that it lies in, of an interpreted frame its source"""

    @property
    def rank(self) -> int:
        """0 is best: own code with a line; then any with a line; then own modules; then whatever there is."""
        if not self.shown:
            return 4
        if self.site.line:
            return 0 if self.own else 1
        return 2 if self.own else 3


class Stacks:
    """Site id -> the frame to show, and the whole stack; worked out when asked for, and kept."""

    def __init__(
        self,
        sites: Sequence[Site],
        modules: Sequence[Module],
        symbols: Mapping[Address, tuple[Frame, ...]],
        *,
        named_stubs: bool = True,
    ) -> None:
        """`named_stubs`: what a kernel's own name is called by on the host is none of the program's functions."""
        self._named_stubs = named_stubs
        self._sites = sites
        self._modules = modules
        self._symbols = symbols
        self._source: FrameSource | None = None
        self._frames: dict[Address, Sequence[Frame]] = {}
        self._shown: dict[int, Site] = {}

    def symbolise_with(self, source: FrameSource) -> None:
        """Ask `source` for addresses that the trace's symbols lack."""
        self._source = source
        self._frames.clear()
        self._shown.clear()

    def site(self, number: int) -> Site:
        """Return the innermost frame of own code, with the label of the call itself.

        Own code is what has a source line and is neither installed nor generated; without any such frame it is the
        innermost with a line, without that the innermost of an own module, as "libfoo.so+0x1234". The site's caller is
        the site of the next frame of own code, 0 when there is none. Frames of the CUDA runtime below give `runtime`.
        """
        shown = self._shown.get(number)
        if shown is None:
            shown = self._shown[number] = self._choose(number)
        return shown

    def frames(self, number: int) -> tuple[Site, ...]:
        """Return the whole stack, innermost first."""
        return tuple(candidate.site for _, candidate in self._stack(number))

    def library_of(self, number: int) -> str:
        """Return the name of the installed library that made a call by itself, "" where a frame of own code led to it.

        What called `exit` did not make the calls of exit handlers. Of several libraries it is the outermost.
        """
        innermost = library = ""
        for _, candidate in self._stack(number):
            if candidate.site.function in _EXITS and not candidate.own:
                break
            if candidate.own and candidate.shown:
                return ""
            innermost = innermost or candidate.module.rpartition("/")[2] or "a library"
            library = library_name(candidate.module) or library
        return library or innermost

    def library_call(self, number: int) -> Site:
        """Return the frame of an installed Python library that a line of own code called, which led to a call.

        Without such a frame, as where what was called is no Python, it is the unknown site.
        """
        entered = UNKNOWN_SITE
        for _, candidate in self._stack(number):
            if candidate.own and candidate.shown:
                return entered
            if not candidate.site.module:
                entered = candidate.site
        return UNKNOWN_SITE

    def _choose(self, number: int) -> Site:
        innermost = self._sites[number]
        if not innermost.caller and not innermost.module:
            return innermost
        # Most frames of a deep stack lie in modules that are not the program's own: these are not looked up.
        own = (entry for entry in self._stack(number, own_modules=True) if entry[1].rank == 0)
        found = next(own, None)
        if found is None:
            _, best = min(self._stack(number), key=lambda entry: entry[1].rank)
            shown = best.site
            caller = 0
        else:
            at, best = found
            shown = best.site
            # Functions inlined into each other have one site: what leads there is the next one.
            caller = next((other for other, _ in own if other != at), 0)
        runtime = self._runtime(number)
        return replace(shown, text=innermost.text, label=innermost.label, caller=caller, runtime=runtime)

    def _runtime(self, number: int) -> str:
        """Return the outermost function of the runtime's API among the frames that the stack begins with."""
        found = ""
        while number and (site := self._sites[number]).module:
            frames = self._at(site.module, site.offset)
            library = is_runtime_module(self._modules[site.module].path)
            # A runtime that was linked statically lies in the program, without lines.
            if not library and not (frames and all(_is_of_runtime(frame) for frame in frames)):
                break
            for frame in frames:
                found = runtime_api(frame.function) or found
            number = site.caller
        return found

    def _stack(self, number: int, *, own_modules: bool = False) -> Iterator[tuple[int, _Candidate]]:
        """Yield the frames with the site that each belongs to; of native ones perhaps only those of own modules."""
        label = self._sites[number].label
        # A caller's id is smaller than the id of what it calls, so that the walk ends.
        for _ in range(DEEPEST_STACK):
            if not number:
                return
            site = self._sites[number]
            if not site.module:
                yield number, _Candidate(site, is_own_source(site.file), True, site.file)
            elif not own_modules or is_own_module(self._modules[site.module].path):
                for candidate in self._native(site, label):
                    yield number, candidate
            number = site.caller

    def _native(self, site: Site, label: str) -> Iterator[_Candidate]:
        module = self._modules[site.module]
        own_module = is_own_module(module.path)
        runtime = is_runtime_module(module.path)
        frames = self._at(site.module, site.offset) or (Frame("", 0),)
        for frame in frames:
            # The function that a launch `kernel<<<...>>>` calls on the host has the kernel's own name and place.
            shown = not is_stub(frame.file, frame.function)
            shown = shown and not (self._named_stubs and same_function(frame.function, label))
            own = own_module and (is_own_source(frame.file) or not frame.line)
            if runtime:
                shown = False
            elif not frame.line:
                shown = shown and not is_runtime_function(frame.function)
            file = frame.file if frame.line else f"{module.name}+{site.offset:#x}"
            place = replace(site, file=file, line=frame.line, column=frame.column, function=short_name(frame.function))
            yield _Candidate(place, own, shown, module.path)

    def _at(self, module: int, offset: int) -> Sequence[Frame]:
        address = (module, offset)
        frames = self._symbols.get(address)
        if frames is not None:
            return frames
        if address not in self._frames:
            self._frames[address] = () if self._source is None else self._source(self._modules[module], offset)
        return self._frames[address]


def _is_of_runtime(frame: Frame) -> bool:
    return not frame.line and is_runtime_function(frame.function)

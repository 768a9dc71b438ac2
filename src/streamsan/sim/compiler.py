"""The simulated run-time compiler: programs from text to images. It lists what a text defines; it makes no code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum

from msgspec import Struct, field

from streamsan.sim.device_program import Program
from streamsan.sim.image import binary_of, ptx_of

DEFAULT_ARCHITECTURE = "sm_75"
_LONG_OPTIONS = {
    "--define-macro": "-D",
    "--include-path": "-I",
    "--undefine-macro": "-U",
    "--gpu-architecture": "-arch",
}
"""options that take a value"""
ARCHITECTURES = (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)


class Result(IntEnum):
    """nvrtcResult, as far as the compiler gives it."""

    SUCCESS = 0
    INVALID_INPUT = 3
    INVALID_PROGRAM = 4
    INVALID_OPTION = 5
    COMPILATION = 6
    NO_NAME_EXPRESSIONS_AFTER_COMPILATION = 8
    NO_LOWERED_NAMES_BEFORE_COMPILATION = 9
    NAME_EXPRESSION_NOT_VALID = 10


class Options(Struct, frozen=True):
    """Options of a compilation, as far as they matter here."""

    architecture: str = DEFAULT_ARCHITECTURE
    defines: Mapping[str, str] = field(default_factory=dict)
    include_dirs: tuple[str, ...] = ()
    link_time: bool = False
    """`-dlto`: there is intermediate code only"""


class InvalidOptionError(Exception):
    """An option that the compiler does not take. `str()` is the option."""


class CompilerProgram(Struct, eq=False):
    """One nvrtcProgram."""

    text: str
    name: str
    headers: Mapping[str, str]
    expressions: list[str] = field(default_factory=list)
    compiled: bool = False
    failed: bool = False
    log: bytes = b"\0"
    ptx: bytes = b""
    binary: bytes = b""
    link_time: bytes = b""
    lowered: Mapping[str, str] = field(default_factory=dict)

    def compile(self, words: Sequence[str]) -> Result:
        """Compile with options; fill in log and images."""
        # Imported here: loading a program that was compiled before needs no grammar.
        from streamsan.sim.program_text import compile_text

        self.compiled = True
        self.ptx = self.binary = self.link_time = b""
        try:
            options = options_of(words)
        except InvalidOptionError as error:
            self.failed = True
            self.log = f"nvrtc: error: invalid value for or unrecognized option: {error}\n".encode() + b"\0"
            return Result.INVALID_OPTION
        found = compile_text(
            self.text,
            self.name,
            headers=self.headers,
            defines=options.defines,
            include_dirs=options.include_dirs,
            expressions=self.expressions,
        )
        self.failed = bool(found.errors)
        if found.errors:
            count = len(found.errors)
            lines = [
                *found.errors,
                f'{count} error{"s" if count > 1 else ""} detected in the compilation of "{self.name}".',
            ]
            self.log = "\n\n".join(lines).encode() + b"\n\0"
            return Result.COMPILATION
        self.log = b"\0"
        self.lowered = found.lowered
        self._make(found.program, options)
        return Result.SUCCESS

    def _make(self, program: Program, options: Options) -> None:
        if options.link_time:
            self.link_time = binary_of(program)
            return
        self.ptx = ptx_of(program, options.architecture)
        if options.architecture.startswith("sm_"):
            self.binary = binary_of(program)


def options_of(words: Sequence[str]) -> Options:
    """Read options. Raises InvalidOptionError; what only concerns the making of code is passed over."""
    architecture, link_time = DEFAULT_ARCHITECTURE, False
    defines: dict[str, str] = {}
    folders: list[str] = []
    pending = [part for word in words for part in (word.split() if word.startswith("-") else [word])]
    while pending:
        word = pending.pop(0)
        if not word.startswith("-") or len(word) < 2:
            raise InvalidOptionError(word)
        name, equals, value = word.partition("=")
        option = _LONG_OPTIONS.get(name, name)
        if option in _LONG_OPTIONS.values():
            if not equals and not pending:
                raise InvalidOptionError(word)
            value = value if equals else pending.pop(0)
        elif word[:2] in _LONG_OPTIONS.values():
            option, value = word[:2], word[2:]
        if option == "-arch":
            if value.partition("_")[0] not in ("sm", "compute", "lto"):
                raise InvalidOptionError(word)
            architecture = value
        elif option == "-D":
            _define(defines, value)
        elif option == "-I":
            folders.append(value)
        elif option == "-U":
            defines.pop(value, None)
        elif word in ("-dlto", "--dlink-time-opt"):
            link_time = True
    return Options(architecture, defines, tuple(folders), link_time)


def _define(defines: dict[str, str], text: str) -> None:
    name, equals, value = text.partition("=")
    if not name.partition("(")[0].isidentifier():
        raise InvalidOptionError(f"-D{text}")
    defines[name] = value if equals else "1"

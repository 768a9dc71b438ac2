"""Directives and comments: what remains for the grammar, every character still at its own offset."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from streamsan.cuda_syntax.compiler_options import COMMAND_LINE, CompilerOptions
from streamsan.cuda_syntax.condition import ConditionError, Definition, evaluate, expand, tokens
from streamsan.cuda_syntax.files_seen import FilesSeen
from streamsan.cuda_syntax.inactive_text import Conditional, InactiveText, opened
from streamsan.cuda_syntax.includes import IncludeSearch
from streamsan.cuda_syntax.source_code import SourceFile, read_source
from streamsan.cuda_syntax.tree import Problem, Span
from streamsan.patterns.late_pattern import late_pattern

PREDEFINED: Final[Mapping[str, str]] = {
    "__CUDACC__": "1",
    "__NVCC__": "1",
    "__DRIVER_TYPES_H__": "",
    "__CUDA_RUNTIME_H__": "",
    "__CUDACC_VER_MAJOR__": "13",
    "__CUDACC_VER_MINOR__": "0",
    "CUDART_VERSION": "13000",
    "CUDA_VERSION": "13000",
    "__cplusplus": "201703L",
    "__linux__": "1",
    "__unix__": "1",
    "__x86_64__": "1",
    "__LP64__": "1",
    "__GNUC__": "13",
    "__GNUC_MINOR__": "2",
    "__STDC_HOSTED__": "1",
    "__SIZEOF_POINTER__": "8",
    "__CHAR_BIT__": "8",
}
MAX_FILES: Final = 2000
_MAX_INCLUDE_DEPTH: Final = 60

# an unterminated literal ends with its line: looking for its end again and again would take quadratic time
_STRING = r'"(?:[^"\\\n]|\\[\s\S])*+"?'
_CHARACTER = r"(?<![0-9a-fA-F])'(?:[^'\\\n]|\\[\s\S])*+'?"
_BLOCK_COMMENT = r"/\*[\s\S]*?(?:\*/|\Z)"
_LINE_COMMENT = r"//(?:\\[ \t]*\n|[^\n])*+"
_TOKEN = late_pattern(
    rf"(?P<directive>^[ \t]*(?:\#|%:)(?:{_BLOCK_COMMENT}|{_LINE_COMMENT}|{_STRING}|\\[ \t]*\n|[^\n])*+)"
    rf"|(?P<comment>{_LINE_COMMENT}|{_BLOCK_COMMENT})"
    r'|\b(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s"]{0,16})\([\s\S]*?(?:\)(?P=delimiter)"|\Z)'
    rf"|{_STRING}|{_CHARACTER}"
    r"|(?P<continuation>\\[ \t]*(?=\n))"
    r"|(?P<pragma>\b_Pragma\s*\(\s*" + _STRING + r"\s*\))",
    re.M,
)
_IN_DIRECTIVE = late_pattern(rf"(?P<keep>{_STRING}|{_CHARACTER})|{_BLOCK_COMMENT}|{_LINE_COMMENT}|\\[ \t]*(?=\n)")
_KEYWORD = late_pattern(r"\s*(?:\#|%:)\s*(\w*)")
_DEFINE = late_pattern(r"\s*([^\W\d]\w*)(\()?")
_INCLUDE = late_pattern(r'\s*(?:"([^"\n]*)"|<([^>\n]*)>)')
_ELISION = late_pattern(r"(?://+|/\*+)[\s!<]*[\[(<{]?\s*(?:\.\.\.|\u2026)")


def blank(text: str) -> str:
    """Spaces in place of everything but newlines."""
    return " " * len(text) if "\n" not in text else "\n".join(" " * len(line) for line in text.split("\n"))


class MacroText(Struct):
    """A `#define` as it stands in its file."""

    name: str
    parameters: list[str] | None
    variadic: bool
    text: str
    """the body; comments and continuations are spaces, newlines stay, so that offsets hold"""
    source: SourceFile
    start: int
    end: int
    body: int
    """offset of `text` in the file"""
    redefined: bool = False


class PreprocessedFile(Struct):
    """A file as the grammar sees it."""

    source: SourceFile
    code: str
    elisions: list[tuple[int, int]]
    included: list[tuple[int, PreprocessedFile]] = field(default_factory=list)
    foreign: bool = False
    """a header of a system's folder"""
    moments: list[tuple[int, int]] = field(default_factory=list)
    """offsets behind which other macros are in force: how many `#define` and `#undef` of the unit came before"""
    inactive: list[InactiveText] = field(default_factory=list)
    """what choices of the program's own leave out"""


class Preprocessor:
    """State that flows through the files of one unit."""

    def __init__(self, options: CompilerOptions, contents: Mapping[str, bytes] | None = None) -> None:
        self.options = options
        self.seen = FilesSeen()
        self.search = IncludeSearch(options, self.seen)
        self.contents = contents or {}
        """real path -> what to take a file for, in place of what is in it"""
        absent = options.undefined
        self.macros = {name: Definition(None, text) for name, text in PREDEFINED.items() if name not in absent}
        self.texts: dict[str, MacroText] = {}
        self.history: dict[str, list[tuple[int, MacroText | None]]] = {}
        """what each `#define` and `#undef` made of a name, with its number among all of them"""
        self.moment = 0
        self.system_includes: list[str] = []
        self.missing_includes: list[Problem] = []
        self.problems: list[Problem] = []
        self.files: dict[str, str] = {}
        self.foreign: set[str] = set()
        """those of `files` that are headers of a system's folder"""
        self._read: set[Path] = set()
        if options.macros:
            _FilePass(self, SourceFile(COMMAND_LINE, options.directives), Path(), 0).run()

    def change(self, name: str, text: MacroText | None) -> None:
        """A name stands for another text from here on; None: it is no macro any more."""
        self.moment += 1
        self.history.setdefault(name, []).append((self.moment, text))

    def read(self, path: Path) -> PreprocessedFile:
        """Reads and preprocesses a file, what its options force upon it, and what it includes.

        Raises OSError if the file itself cannot be read.
        """
        source, complaints = read_source(path, self.contents, self.seen)
        self._read.add(_identity(path))
        for complaint in complaints:
            self.problems.append(Problem(Span(source.name, 1, 1, 1, 1), complaint))
        forced = list(self._forced(source))
        read = self.process(source, path.parent, 0)
        read.included[:0] = [(0, each) for each in forced]
        return read

    def _forced(self, source: SourceFile) -> Iterator[PreprocessedFile]:
        for name in self.options.forced_includes:
            directive = _FilePass(self, source, Path(), 0)
            directive.include_named(name, True, 0, 0)
            yield from (read for _, read in directive.result.included)

    def process(self, source: SourceFile, folder: Path, depth: int, foreign: bool = False) -> PreprocessedFile:
        """Preprocesses a text."""
        self.files[source.name] = source.text
        if foreign:
            self.foreign.add(source.name)
        return _FilePass(self, source, folder, depth, foreign).run()

    def include(self, path: Path, depth: int, foreign: bool) -> PreprocessedFile | None:
        """Reads an included file, once; None when it was read before, or cannot be."""
        identity = _identity(path)
        if identity in self._read or depth > _MAX_INCLUDE_DEPTH or len(self._read) >= MAX_FILES:
            return None
        self._read.add(identity)
        source, complaints = read_source(path, self.contents, self.seen)
        for complaint in complaints:
            self.problems.append(Problem(Span(source.name, 1, 1, 1, 1), complaint))
        return self.process(source, path.parent, depth, foreign)


def _identity(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path


class _FilePass:
    """One pass over one file."""

    def __init__(
        self, owner: Preprocessor, source: SourceFile, folder: Path, depth: int, foreign: bool = False
    ) -> None:
        self.owner = owner
        self.source = source
        self.folder = folder
        self.depth = depth
        self.stack: list[Conditional] = []
        self.foreign = foreign
        self.result = PreprocessedFile(source, "", [], foreign=foreign)

    @property
    def active(self) -> bool:
        return not self.stack or self.stack[-1].active

    def problem(self, offset: int, end: int, text: str) -> None:
        self.owner.problems.append(Problem(self.source.span(offset, end), text))

    def run(self) -> PreprocessedFile:
        text = self.source.text
        out: list[str] = []
        at = 0
        active = True
        moment = self.owner.moment
        moments = self.result.moments
        moments.append((0, moment))
        for match in _TOKEN.finditer(text):
            kind = match.lastgroup
            if kind is None or kind == "delimiter":
                continue
            start, end = match.span()
            if kind == "directive":
                out.append(text[at:start] if active else blank(text[at:start]))
                out.append(blank(match[0]))
                if not active:
                    self.leave_out(at, start)
                at = end
                self.directive(match[0], start)
                active = self.active
                if self.owner.moment != moment:
                    moment = self.owner.moment
                    moments.append((end, moment))
            elif active:
                if kind == "comment" and _ELISION.match(match[0]):
                    self.result.elisions.append((start, end))
                out.append(text[at:start])
                out.append(blank(match[0]))
                at = end
        out.append(text[at:] if active else blank(text[at:]))
        for conditional in self.stack:
            self.problem(conditional.offset, conditional.offset, "#if without #endif")
        self.result.code = "".join(out)
        return self.result

    def leave_out(self, start: int, end: int) -> None:
        """Notes what an inactive branch leaves out, where it does so by a choice of the program's own."""
        outermost = next(each for each in self.stack if not each.active)
        if outermost.choice and end > start:
            self.result.inactive.append(InactiveText(start, end, outermost.branch))

    def directive(self, raw: str, start: int) -> None:
        text = _IN_DIRECTIVE.sub(lambda m: m[0] if m.lastgroup == "keep" else blank(m[0]), raw)
        head = _KEYWORD.match(text)
        if head is None:
            return
        word, rest, end = head[1], text[head.end() :], start + len(raw)
        if word in ("if", "ifdef", "ifndef"):
            parent = self.active
            value = parent and self.condition(word, rest, start, end)
            self.stack.append(opened(word, rest, start, parent, value))
        elif word in ("elif", "elifdef", "elifndef", "else", "endif"):
            self.alternative(word, rest, start, end)
        elif not self.active:
            return
        elif word == "define":
            self.define(rest, start, end, start + head.end())
        elif word == "undef":
            if self.owner.macros.pop(rest.strip(), None) is not None:
                self.owner.change(rest.strip(), None)
        elif word in ("include", "include_next", "import"):
            self.include(rest, start, end)

    def condition(self, word: str, rest: str, start: int, end: int) -> bool:
        if word.endswith("def"):
            names = rest.split(None, 1)
            if not names:
                self.problem(start, end, f"#{word} without a name")
                return False
            return (names[0] in self.owner.macros) == (word in ("ifdef", "elifdef"))
        try:
            return bool(evaluate(rest, self.owner.macros, self.has_include))
        except ConditionError as error:
            self.problem(start, end, f"#{word}: {error}")
            return False

    def has_include(self, text: str) -> bool:
        match = _INCLUDE.match(text)
        if match is None:
            return False
        name = match[1] or match[2] or ""
        found = self.owner.search.find(name, match[1] is not None, self.folder)
        return found.path is not None or found.system

    def alternative(self, word: str, rest: str, start: int, end: int) -> None:
        if not self.stack:
            self.problem(start, end, f"#{word} without #if")
            return
        top = self.stack[-1]
        if word == "endif":
            self.stack.pop()
            return
        if top.has_else:
            self.problem(start, end, f"#{word} after #else")
            top.active = False
            return
        top.alternative(word, rest)
        if word == "else":
            top.has_else = True
            top.active = top.parent and not top.taken
            top.taken = True
        else:
            top.active = top.parent and not top.taken and self.condition(word, rest, start, end)
            top.taken |= top.active

    def define(self, rest: str, start: int, end: int, at: int) -> None:
        match = _DEFINE.match(rest)
        if match is None:
            self.problem(start, end, "#define without a name")
            return
        name = match[1]
        body_at = match.end()
        parameters: list[str] | None = None
        variadic = False
        if match[2]:
            close = rest.find(")", body_at)
            if close < 0:
                self.problem(start, end, f"#define {name}: the parameters have no end")
                return
            parameters = [p.strip() for p in rest[body_at:close].split(",")]
            if parameters == [""]:
                parameters = []
            if parameters and parameters[-1].endswith("..."):
                variadic = True
                parameters[-1] = parameters[-1][:-3].strip() or "__VA_ARGS__"
            body_at = close + 1
        body = rest[body_at:]
        lead = len(body) - len(body.lstrip())
        body = body.strip()
        self.owner.macros[name] = Definition(parameters, body, variadic)
        previous = self.owner.texts.get(name)
        redefined = previous is not None and (
            previous.redefined or previous.text.split() != body.split() or previous.parameters != parameters
        )
        made = MacroText(name, parameters, variadic, body, self.source, start, end, at + body_at + lead, redefined)
        self.owner.texts[name] = made
        self.owner.change(name, made)

    def include(self, rest: str, start: int, end: int) -> None:
        match = _INCLUDE.match(rest)
        if match is None:
            try:
                rest = "".join(expand(tokens(rest), self.owner.macros, frozenset(), [1000]))
            except ConditionError:
                rest = ""
            match = _INCLUDE.match(rest)
            if match is None:
                self.problem(start, end, "#include of something that is no file name")
                return
        quoted = match[1] is not None
        self.include_named(match[1] if quoted else match[2], quoted, start, end)

    def include_named(self, name: str, quoted: bool, start: int, end: int) -> None:
        """Reads what a directive, or an option in its place, names."""
        found = self.owner.search.find(name, quoted, self.folder, self.foreign)
        if found.path is None:
            if found.system:
                self.owner.system_includes.append(name)
            else:
                span = self.source.span(start, end)
                self.owner.missing_includes.append(Problem(span, f"{name} was not found"))
            return
        try:
            read = self.owner.include(found.path, self.depth + 1, found.foreign)
        except OSError as error:
            reason = error.strerror or "cannot be read"
            self.owner.seen.changing = True
            self.owner.missing_includes.append(Problem(self.source.span(start, end), f"{name}: {reason}"))
            return
        if read is not None:
            self.result.included.append((end, read))

"""A translation unit: preprocessing, parsing, lowering, and the merge of its files in order of text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from streamsan.cuda_syntax import (
    declaration_macros,
    declaration_nodes,
    declarators,
    fragment,
    lowering,
    macro_bodies,
    operator_nodes,
    primary_expressions,
    repairs,
    scanner,
    statement_nodes,
    text_repairs,
)
from streamsan.cuda_syntax.compiler_options import CompilerOptions
from streamsan.cuda_syntax.context import MAX_NESTING, Context, Shared, parse
from streamsan.cuda_syntax.file_content import clean
from streamsan.cuda_syntax.macro_history import MacrosInForce
from streamsan.cuda_syntax.preprocess import PreprocessedFile, Preprocessor, blank
from streamsan.cuda_syntax.source_code import Code, SourceFile
from streamsan.cuda_syntax.tree import Class, Function, Problem, Span, Statement, Unit
from streamsan.patterns.late_pattern import late_pattern

_BODY: Final = late_pattern(r"\)\s*(?:const\s*)?(?:noexcept\s*)?\{")
"""what a function looks like to who knows no grammar"""

lowering.EXPRESSIONS.update(primary_expressions.HANDLERS | operator_nodes.HANDLERS)
lowering.TYPE_NAMES.update(declarators.TYPE_NAMES)
lowering.STATEMENTS.update(statement_nodes.HANDLERS)
lowering.DECLARATIONS.update(declaration_nodes.HANDLERS)


def read_unit(
    path: Path, options: CompilerOptions | None = None, *, contents: Mapping[str, bytes] | None = None
) -> Unit:
    """Reads a source file, with the local files it includes, into a tree. `contents` stand for those of files.

    Whatever the text holds, this gives a Unit: what could not be followed is in `problems`.
    Raises OSError if the file itself cannot be read.
    """
    preprocessor = Preprocessor(options or CompilerOptions(), contents)
    return _unit(preprocessor, preprocessor.read(path))


def read_text(text: str, name: str = "input.cu", options: CompilerOptions | None = None) -> Unit:
    """The same from a text; quoted includes are sought in the include directories and beside `name`."""
    preprocessor = Preprocessor(options or CompilerOptions())
    complaints: list[str] = []
    source = SourceFile(name, clean(text, complaints))
    for complaint in complaints:
        preprocessor.problems.append(Problem(Span(name, 1, 1, 1, 1), complaint))
    return _unit(preprocessor, preprocessor.process(source, Path(name).parent, 0))


def _unit(preprocessor: Preprocessor, main: PreprocessedFile) -> Unit:
    unit = Unit(
        main.source.name,
        [],
        {},
        preprocessor.system_includes,
        preprocessor.missing_includes,
        preprocessor.problems,
        preprocessor.files,
        foreign=frozenset(preprocessor.foreign),
        seen=preprocessor.seen,
    )
    shared = Shared(unit, set(), preprocessor.texts, preprocessor.history, 0)
    found = _file(main, shared)
    unit.declarations, unit.fragment = fragment.wrap(found, main.source.name, main.source.text)
    if unit.fragment:
        unit.unread_macros.clear()  # they are statements of it
    unit.unread_macros += _not_parsed(unit)
    unit.macros = macro_bodies.lower_all(shared)
    understood = unit.fragment or any(_has_body(each) for each in found)
    unit.without_functions = not understood and _BODY.search(main.code) is not None
    return unit


def _not_parsed(unit: Unit) -> list[Problem]:
    """What came of invocations, holds a word of CUDA, and could not be followed."""
    of_cuda = {(each.file, *each[1:3]) for each, cuda in unit.expansions.items() if cuda}
    return [problem for problem in unit.problems if (problem.span.file, *problem.span[1:3]) in of_cuda]


def _has_body(node: Statement) -> bool:
    """Whether a declaration is a function with a body, or a class: which may have methods."""
    return isinstance(node, Class) or (isinstance(node, Function) and node.body is not None)


def _file(read: PreprocessedFile, shared: Shared) -> list[Statement]:
    """The declarations of a file, those of included files where the include stands."""
    shared.unit.codes[read.source.name] = read.code
    if read.inactive and not read.foreign:
        shared.unit.inactive[read.source.name] = read.inactive
    code = _substituted(text_repairs.conventions(Code.whole(read.source, read.code)), shared)
    expanded = declaration_macros.expanded(code, MacrosInForce(shared.history, read))
    code = expanded.code
    shared.unit.expansions.update(expanded.expansions)
    shared.unit.unread_macros += expanded.unread
    code = text_repairs.member_pointers(text_repairs.defaulted_outside(code))
    code = text_repairs.pointers_to_functions(code)
    _flatten_deep(code, shared)
    shared.budget = max(shared.budget, 0) + 12 * len(code.data) + 100_000
    ctx = Context(code, shared, read.elisions)
    included = list(reversed(read.included))
    found: list[Statement] = []
    root = parse(code.data)

    def include_until(offset: int) -> None:
        origin = code.origin(offset)
        while included and included[-1][0] <= origin:
            found.extend(_file(included.pop()[1], shared))

    if root.has_error:
        for item, made in repairs.each(ctx, 0, len(code.data), "file", root.children):
            include_until(item.start)
            found.extend(made)
    else:
        for child in root.named_children:
            if not child.is_extra:
                include_until(child.start_byte)
                found.extend(repairs.lowered(ctx, [child], "file"))
    while included:
        found.extend(_file(included.pop()[1], shared))
    return found


def _flatten_deep(code: Code, shared: Shared) -> None:
    """Empties brackets nested deeper than anybody follows: neither the grammar nor a walker of the tree needs them."""
    text = code.ascii
    if not scanner.too_deep(text, MAX_NESTING):
        return
    pieces: list[str] = []
    at = 0
    for start, end in scanner.deep_regions(text, MAX_NESTING):
        pieces.append(text[at:start])
        pieces.append(blank(text[start:end]))
        at = end
        shared.unit.problems.append(Problem(code.span_of(start, end), "nested too deeply to follow"))
    pieces.append(text[at:])
    code.data = "".join(pieces).encode("ascii")


def _substituted(code: Code, shared: Shared) -> Code:
    """Macros that are nothing but qualifiers, or braces, replaced in the text: the grammar cannot know them."""
    words = {
        n for n, m in shared.macros.items() if m.parameters is None and text_repairs.is_decoration(m, shared.macros)
    }
    for _ in range(4):  # such macros may be made of such macros
        if not words or not text_repairs.mentions(code.ascii, words):
            break
        code = text_repairs.expand_macros(code, shared.macros, lambda macro: macro.name in words)
    return code

"""Calls of CUDA as text tells them, where no tree does: in branches that are inactive, in what could not be parsed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streamsan.cuda_source import known_apis
from streamsan.cuda_source.values.classes import last_name
from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.source_code import SourceFile
from streamsan.cuda_syntax.walk import parts
from streamsan.patterns.late_pattern import late_pattern

ONLY_NAMES = late_pattern(r"cu(?:da)?GetError(?:String|Name)$")
"""calls that do nothing: they stand where errors are printed"""
_CALL = late_pattern(
    r"//[^\n]*+|/\*[\s\S]*?(?:\*/|\Z)"
    r'|"(?:[^"\\\n]|\\[\s\S])*+"?'
    r"|\b(?P<name>cu(?:da)?[A-Z]\w*+)\s*+\("
    r"|(?<![\w:])(?:::)?(?P<kernel>[A-Za-z_][\w:]*+)\s*+(?:<(?!<<)[^<>;{}()]*+>\s*+)?<<<"
)
_BEFORE = late_pattern(r"(?P<word>[A-Za-z_]\w*)\s*$|(?P<member>\.|->)\s*$")
_BEFORE_EXPRESSIONS = frozenset(
    {"return", "else", "do", "case", "throw", "co_return", "co_await", "not", "and", "or", "goto", "in"}
)
_LONGEST_WORD = 80


def calls_in(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, str]]:
    """Yield offset and name of each call in a range of a text, `<<<` for a launch; declarations are none."""
    for match in _CALL.finditer(text, start, len(text) if end is None else end):
        name = match["name"]
        if name is None:
            if match["kernel"] is not None:
                yield match.start("kernel"), known_apis.LAUNCH
        elif known_apis.find(name) is not None and not ONLY_NAMES.match(name):
            before = _BEFORE.search(text, max(0, match.start() - _LONGEST_WORD), match.start())
            if before is None or before["word"] in _BEFORE_EXPRESSIONS:
                yield match.start(), name


def inactive_calls(unit: tree.Unit) -> Iterator[tuple[tree.Span, str, str]]:
    """Yield places and names of the calls that a choice of the program's own leaves out, and the directive."""
    for file, left_out in unit.inactive.items():
        source = SourceFile(file, unit.files[file])
        for each in left_out:
            for offset, name in calls_in(source.text, each.start, each.end):
                yield source.span(offset, offset), name, each.directive


def unparsed_calls(unit: tree.Unit) -> Iterator[tuple[tree.Span, str]]:
    """Yield the places and names of calls that the text has and the tree does not."""
    own = {file: code for file, code in unit.codes.items() if file not in unit.foreign}
    for file, code in own.items():
        source = SourceFile(file, code)
        found = [(source.span(offset, offset), name) for offset, name in calls_in(code)]
        if not found:
            continue
        known, device = _known(unit.declarations, file, [span for span, _ in found])
        device += [span for span in unit.expansions if span.file == file]
        for span, name in found:
            if (span.line, name) not in known and not any(_inside(span, each) for each in device):
                yield span, name


def _known(
    declarations: Iterable[tree.Statement], file: str, places: list[tree.Span]
) -> tuple[set[tuple[int, str]], list[tree.Span]]:
    """Return lines and names of the calls in a file's tree, and where its code of the device is."""
    known: set[tuple[int, str]] = set()
    device: list[tree.Span] = []
    pending: list[object] = [
        each for each in declarations if each.span.file == file and any(_inside(span, each.span) for span in places)
    ]
    while pending:
        node = pending.pop()
        if isinstance(node, tree.Function) and (node.kernel or node.device_only):
            device.append(node.span)
            continue
        if isinstance(node, tree.Launch):
            known.add((node.span.line, known_apis.LAUNCH))
        elif isinstance(node, tree.Call) and isinstance(node.callee, tree.Name):
            known.add((node.callee.span.line, last_name(node.callee.name)))
        pending.extend(parts(node))
    return known, device


def _inside(span: tree.Span, outer: tree.Span) -> bool:
    return (outer.line, outer.column) <= (span.line, span.column) < (outer.end_line, outer.end_column)

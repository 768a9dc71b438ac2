"""Damaged regions: split by brackets, each statement or declaration parsed alone, so that errors hide little."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Final, Literal

from msgspec import Struct
from tree_sitter import Node

from streamsan.cuda_syntax import lowering, text_repairs, tree
from streamsan.cuda_syntax.context import MAX_DEPTH, Context, Hollow, parse
from streamsan.cuda_syntax.preprocess import MacroText
from streamsan.cuda_syntax.scanner import Item, items, opens_block
from streamsan.cuda_syntax.source_code import Code
from streamsan.patterns.late_pattern import late_pattern

Level = Literal["file", "class", "block"]

_BEFORE: Final[dict[Level, str]] = {"file": "", "class": "struct x {", "block": "void x() {"}
_AFTER: Final[dict[Level, str]] = {"file": "\n", "class": "\n};", "block": "\n}"}
_MAX_DEPTH: Final = 40
_LAST_TOKEN = late_pattern(r"([^\W\d]\w*|[^\s\w])\s*$")
_WITHOUT_MEANING = late_pattern(
    r"\s*(?:_*[A-Z][A-Z0-9_]{2,}\s*(?:\([^(){};]*\)\s*)?;?|(?:extern\s+)?template\b(?!\s*<)[^{}]*;)\s*"
)
"""a bare word in capitals (a macro from a header nobody has), an explicit instantiation"""
_CALLED = late_pattern(r"(?P<name>[^\W\d]\w*(?:::\w+)*)(?=\s*\()")
_FUNCTION_NAME = late_pattern(r"([^\W\d][\w:]*|~\w+)\s*\((?:[^()]|\([^()]*\))*\)[^(){}]*$")
_BODY_FOLLOWS: Final = frozenset((")", "else", "do", "try", "const", "noexcept", "override", "final", "mutable"))


class _Attempt(Struct):
    """Code with its tree and the nodes that matter in it."""

    code: Code
    root: Node
    nodes: list[Node]

    @property
    def good(self) -> bool:
        return not self.root.has_error and bool(self.nodes)


def block(ctx: Context, node: Node) -> tree.Block:
    """A compound statement, or what stands in the place of one."""
    if node.type != "compound_statement":
        return tree.Block(ctx.span(node), lowering.statement(ctx, node))
    if ctx.depth >= MAX_DEPTH:
        ctx.problem(ctx.span(node), "nested too deeply to follow")
        return tree.Block(ctx.span(node), [])
    return tree.Block(ctx.span(node), contents(ctx, node, "block"))


def contents(ctx: Context, node: Node, level: Level) -> list[tree.Statement]:
    """The statements or declarations between the braces of a node, in order."""
    if ctx.hollow and (hollow := ctx.hollow.get(node.start_byte)) is not None:
        return region(ctx.with_code(hollow.code), hollow.start, hollow.end, level)
    if node.has_error and level != "file":
        start, end = node.start_byte + 1, node.end_byte
        if end > start and ctx.code.data[end - 1 : end] == b"}":
            end -= 1
        return region(ctx, start, end, level, node.children[1:])
    found = lowered(ctx, node.children, level)
    return _with_elisions(ctx, node.start_byte, node.end_byte, found) if level == "block" else found


def lowered(ctx: Context, nodes: list[Node], level: Level) -> list[tree.Statement]:
    """What nodes stand for that stand in braces, or in a file."""
    found: list[tree.Statement] = []
    for node in nodes:
        if node.is_named and not node.is_extra:
            found.extend(_LEVELS[level](ctx, node))
    return found


def _member(ctx: Context, node: Node) -> list[tree.Statement]:
    """What stands in a class."""
    if node.type == "friend_declaration":
        # A friend function defined in the class is a function of the enclosing namespace: only that form matters.
        outside = ctx.copy(scope=ctx.scope.rpartition("::")[0])
        defined = [child for child in node.named_children if child.type == "function_definition"]
        return lowering.declare(outside, defined[0]) if defined else []
    if lowering.is_declaration(node):
        return lowering.declare(ctx, node)
    text = ctx.text(node).strip(" ;,\n")
    if text and node.type != "expression_statement":
        ctx.problem(ctx.span(node), ctx.brief(node))
    return []


def _top_level(ctx: Context, node: Node) -> list[tree.Statement]:
    """What stands at namespace scope: declarations; statements too, in fragments of programs."""
    if lowering.is_declaration(node):
        return lowering.declare(ctx, node)
    return lowering.statement(ctx if node.is_error else ctx.copy(local=True), node)


_LEVELS: Final[dict[Level, Callable[[Context, Node], list[tree.Statement]]]] = {
    "block": lowering.statement,
    "class": _member,
    "file": _top_level,
}


def _with_elisions(ctx: Context, start: int, end: int, found: list[tree.Statement]) -> list[tree.Statement]:
    """Puts a hole where a comment such as `// ... kernel code ...` stands among the statements of a block.

    Holes inside a nested statement belong to that one's own block.
    """
    elisions = ctx.elisions
    if not elisions:
        return found
    first, last = ctx.code.origin(start), ctx.code.origin(max(start, end - 1))
    at = bisect_left(elisions, (first, 0))
    result = found
    while at < len(elisions) and elisions[at][0] <= last:
        begin, finish = elisions[at]
        span = ctx.code.source.span(begin, finish)
        place = (span.line, span.column)
        inside = any(
            (s.span.line, s.span.column) <= place < (s.span.end_line, s.span.end_column) and s.span.file == span.file
            for s in found
        )
        if not inside:
            if result is found:
                result = list(found)
            index = next((i for i, s in enumerate(result) if (s.span.line, s.span.column) > place), len(result))
            result.insert(index, tree.UnparsedStatement(span, " ".join(ctx.code.source.text[begin:finish].split()), []))
        at += 1
    return result


def region(ctx: Context, start: int, end: int, level: Level, nodes: list[Node] | None = None) -> list[tree.Statement]:
    """The statements or declarations in a range of the code. `nodes`: what the grammar made of it, used where sound."""
    found: list[tree.Statement] = []
    for item, made in each(ctx, start, end, level, nodes):
        del item
        found.extend(made)
    if level == "block":
        found = _with_elisions(ctx, start, end, found)
    return found


def each(
    ctx: Context, start: int, end: int, level: Level, nodes: list[Node] | None = None
) -> Iterator[tuple[Item, list[tree.Statement]]]:
    """The same, item by item."""
    if ctx.depth > _MAX_DEPTH:
        ctx.problem(ctx.code.span_of(start, end), "nested too deeply to follow")
        return
    known = nodes or []
    at = 0
    text = ctx.code.ascii
    for item in items(text, start, end):
        while at < len(known) and known[at].start_byte < item.start:
            at += 1
        mine: list[Node] = []
        sound = True
        while at < len(known) and known[at].start_byte < item.end:
            node = known[at]
            sound = sound and not node.has_error and not node.is_missing and node.end_byte <= item.end
            mine.append(node)
            at += 1
        if mine and sound and mine[0].start_byte == item.start and mine[-1].end_byte == item.end and not item.stray:
            yield item, lowered(ctx, mine, level)
        else:
            ctx.depth += 1
            yield item, _repair(ctx, item, text, level)
            ctx.depth -= 1


def _attempt(ctx: Context, code: Code, level: Level) -> _Attempt:
    """Parses code as what it would be at a level."""
    ctx.shared.budget -= len(code.data)
    size = len(code.data)
    whole = (
        code.cut([(0, 0, _BEFORE[level]), (0, size, None), (size, size, _AFTER[level])]) if level != "file" else code
    )
    root = parse(whole.data)
    if level == "file":
        return _Attempt(whole, root, list(root.children))
    outer = root.named_children[0] if root.named_child_count else None
    body = None if outer is None else outer.child_by_field_name("body")
    nodes = [] if body is None else body.children[1:-1]
    return _Attempt(whole, root, nodes)


def _lower_attempt(
    ctx: Context, attempt: _Attempt, level: Level, hollow: dict[int, Hollow] | None = None
) -> list[tree.Statement]:
    inner = ctx.with_code(attempt.code, hollow)
    return lowered(inner, attempt.nodes, level)


def _repair(ctx: Context, item: Item, text: str, level: Level) -> list[tree.Statement]:
    span = ctx.code.span_of(item.start, item.end)
    if item.stray:
        ctx.problem(span, "`}` closes nothing")
        return []
    if item.hole:
        return [tree.UnparsedStatement(span, "...", [])] if level != "class" else []
    if ctx.shared.budget < 0:
        ctx.problem(span, "too much damage to follow")
        return [tree.UnparsedStatement(span, _brief(text, item), [])]
    code = ctx.code.cut([(item.start, item.end, None)])
    return _try(ctx, code, level)


def _try(ctx: Context, code: Code, level: Level) -> list[tree.Statement]:
    """One item's code: as it is, then with ever more changed, then in parts."""
    attempt = _attempt(ctx, code, level)
    if attempt.good:
        return _lower_attempt(ctx, attempt, level)
    if level != "block" and _WITHOUT_MEANING.fullmatch(code.ascii):
        return []
    worst = attempt
    calls, rest = text_repairs.macros_without_semicolon(code)
    if calls:
        lowered: list[tree.Statement] = []
        for call in calls:
            if level != "class":
                lowered.extend(_try(ctx.copy(local=True), call, "block"))
        remaining = [] if rest is None else region(ctx.with_code(rest), 0, len(rest.data), level)
        return [*lowered, *remaining]
    for fix in text_repairs.SAME_LENGTH:
        changed = fix(code.ascii)
        if changed != code.ascii:
            code = code.same_length(changed.encode("ascii"))
            attempt = _attempt(ctx, code, level)
            if attempt.good:
                return _lower_attempt(ctx, attempt, level)
    filled = text_repairs.launch_braces(text_repairs.empty_arguments(code))
    if filled is not code:
        attempt = _attempt(ctx, filled, level)
        code = filled
        if attempt.good:
            return _lower_attempt(ctx, attempt, level)
    if level == "file":
        attempt = _attempt(ctx, code, "block")
        if attempt.good and not any(lowering.is_declaration(n) for n in attempt.nodes):
            return _lower_attempt(ctx.copy(local=True), attempt, "block")
    found = _hollowed(ctx, code, level)
    if found is not None:
        return found
    expanded = text_repairs.expand_macros(code, ctx.shared.macros, _expandable)
    if expanded is not code and ctx.shared.budget > 0 and len(expanded.data) < 4 * len(code.data) + 10_000:
        ctx.depth += 1
        try:
            if ctx.depth <= _MAX_DEPTH:
                return region(ctx.with_code(expanded), 0, len(expanded.data), level)
        finally:
            ctx.depth -= 1
    terminated = text_repairs.terminated(code)
    if terminated is not None:
        closed, missing = terminated
        attempt = _attempt(ctx, closed, level)
        if attempt.good:
            ctx.problem(code.span_of(0, len(code.data)), f"`{missing}` is missing")
            return _lower_attempt(ctx, attempt, level)
    return _given_up(ctx, code, level, worst)


def _expandable(macro: MacroText) -> bool:
    return len(macro.text) < 5000


def _hollowed(ctx: Context, code: Code, level: Level) -> list[tree.Statement] | None:
    """The item with its brace groups emptied; their insides are regions of their own. None if that does not parse."""
    text = code.ascii
    item = next(iter(items(text, 0, len(text))), None)
    if item is None:
        return None
    parts: list[tuple[int, int, str | None]] = []
    insides: list[tuple[int, int]] = []
    at = 0
    for group in item.groups:
        inside = text[group.start + 1 : group.end - 1] if group.closed else text[group.start + 1 : group.end]
        last = _LAST_TOKEN.search(text, max(0, group.start - 200), group.start)
        if not inside.strip() or (last is not None and not opens_block(last[1])):
            continue
        if (last is None or last[1] not in _BODY_FOLLOWS) and not any(c in inside for c in ";.{"):
            continue
        parts.append((at, group.start + 1, None))
        insides.append((group.start + 1, group.end - 1 if group.closed else group.end))
        if not group.closed:
            parts.append((group.end, group.end, "}"))
            ctx.problem(code.span_of(group.start, group.start + 1), "`{` is never closed")
        at = group.end - 1 if group.closed else group.end
    if not insides:
        return _qualified(ctx, code, level)
    parts.append((at, len(text), None))
    empty = code.cut([p for p in parts if p[2] is not None or p[1] > p[0]])
    for candidate in _candidates(empty):
        attempt = _attempt(ctx, candidate, level)
        if attempt.good:
            offset = len(_BEFORE[level])
            hollow: dict[int, Hollow] = {}
            shift = 0
            for start, end in insides:
                hollow[offset + start - 1 - shift] = Hollow(code, start, end)
                shift += end - start
            return _lower_attempt(ctx, attempt, level, hollow)
    return None


def _candidates(code: Code) -> Iterator[Code]:
    yield code
    text = code.ascii
    changed = text_repairs.unknown_qualifiers(text)
    if changed != text:
        yield code.same_length(changed.encode("ascii"))
    if not text.rstrip().endswith((";", "}")):
        size = len(text)
        yield code.cut([(0, size, None), (size, size, ";")])


def _qualified(ctx: Context, code: Code, level: Level) -> list[tree.Statement] | None:
    text = code.ascii
    changed = text_repairs.unknown_qualifiers(text)
    if changed == text:
        return None
    attempt = _attempt(ctx, code.same_length(changed.encode("ascii")), level)
    return _lower_attempt(ctx, attempt, level) if attempt.good else None


def macro_with_block(ctx: Context, node: Node) -> list[tree.Statement]:
    """`FOR_EACH(i, n) { ... }` in a function: a macro that opens a loop or a condition.

    A known one is replaced by its text; an unknown one is a condition nobody knows.
    """
    code = ctx.code.cut([(node.start_byte, node.end_byte, None)])
    if ctx.depth < _MAX_DEPTH and ctx.shared.budget > 0:
        expanded = text_repairs.expand_macros(
            code, ctx.shared.macros, lambda m: m.parameters is not None and _expandable(m)
        )
        if expanded is not code:
            return region(ctx.with_code(expanded), 0, len(expanded.data), "block")
    body = node.child_by_field_name("body")
    span = ctx.span(node)
    end = body.start_byte if body is not None else node.end_byte
    head = " ".join(ctx.code.shown[node.start_byte : min(end, node.start_byte + 200)].split())
    ctx.problem(span, f"{head} {{...}}")
    inside = block(ctx, body) if body is not None else tree.Block(span, [])
    return [tree.If(span, None, tree.Unparsed(span, head, []), inside, None)]


def _brief(text: str, item: Item) -> str:
    words = " ".join(text[item.start : min(item.end, item.start + 400)].split())
    return words if len(words) <= 80 else words[:77] + "..."


def _names_called(code: Code) -> list[tree.Expression]:
    """What looks like calls in text that no tree was found for: names with arguments nobody knows."""
    found: list[tree.Expression] = []
    for match in _CALLED.finditer(code.ascii):
        name = match["name"]
        if name not in text_repairs.NO_MACROS and len(found) < 20:
            span = code.span_of(match.start(), match.end())
            found.append(tree.Call(span, tree.Name(span, name), [], True))
    return found


def _given_up(ctx: Context, code: Code, level: Level, attempt: _Attempt) -> list[tree.Statement]:
    """What can be kept of an item nobody understands: calls in its head, its brace groups as regions."""
    text = code.ascii
    size = len(text)
    item = next(iter(items(text, 0, size)), None)
    span = code.span_of(0, len(text.rstrip()))
    groups = [] if item is None else [g for g in item.groups if any(c in text[g.start : g.end] for c in ";.{")]
    head_end = groups[0].start if groups else size
    head = " ".join(code.shown[:head_end][:400].split())
    head = (head if len(head) <= 80 else head[:77] + "...") or "a block that stands in such text"
    ctx.problem(code.span_of(0, max(1, len(text[:head_end].rstrip()))), head)
    inner = ctx.with_code(attempt.code)
    if not groups:
        return [tree.UnparsedStatement(span, head, lowering.recognised(inner, attempt.root) or _names_called(code))]
    named = _FUNCTION_NAME.search(text, 0, head_end)
    result: list[tree.Statement] = []
    for index, group in enumerate(groups):
        end = group.end - 1 if group.closed else group.end
        if level == "block":
            body = tree.Block(
                code.span_of(group.start, group.end), region(ctx.with_code(code), group.start + 1, end, "block")
            )
            children: list[tree.Expression] = []
            if index == 0 and head_end < size:
                first = _attempt(ctx, code.cut([(0, head_end, None), (head_end, head_end, ";")]), "block")
                children = lowering.recognised(ctx.with_code(first.code), first.root)
            result.append(tree.If(body.span, None, tree.Unparsed(span, head, children), body, None))
        elif named is not None and level in ("file", "class"):
            local = ctx.with_code(code).copy(local=True)
            body = tree.Block(code.span_of(group.start, group.end), region(local, group.start + 1, end, "block"))
            parameters: list[tree.Parameter] = []
            name = ctx.qualified(named[1])
            result.append(
                tree.Function(span, name, parameters, tree.Type(""), body, kernel="__global__" in text[:head_end])
            )
            break
        else:
            result.extend(region(ctx.with_code(code), group.start + 1, end, level))
    return result

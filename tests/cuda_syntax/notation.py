"""A short notation of trees, so that expected results fit into tables."""

from __future__ import annotations

from streamsan.cuda_syntax import tree as t
from streamsan.cuda_syntax.unit import read_text


def kind(of: t.Type) -> str:
    arguments = ", ".join(kind(a) if isinstance(a, t.Type) else note(a) for a in of.arguments)
    dimensions = "".join(f"[{note(d) if d is not None else ''}]" for d in of.array)
    return (
        ("const " if of.const else "")
        + of.name
        + (f"<{arguments}>" if of.arguments else "")
        + "*" * of.pointers
        + of.reference
        + dimensions
        + ("()" if of.function else "")
    )


def notes(nodes: list[t.Expression] | list[t.Statement]) -> str:
    return " ".join(note(n) for n in nodes)


def note(node: object) -> str:
    match node:
        case None:
            return "-"
        case t.Name(name=name, template_arguments=arguments):
            inner = ",".join(kind(a) if isinstance(a, t.Type) else note(a) for a in arguments)
            return name + (f"<{inner}>" if arguments else "")
        case t.Literal_(value=value):
            return "nullptr" if value is None else repr(value)
        case t.Unary(operator=operator, operand=operand):
            return f"({operator} {note(operand)})"
        case t.Binary(operator=operator, left=left, right=right):
            return f"({note(left)} {operator} {note(right)})"
        case t.Assign(operator=operator, target=target, value=value):
            return f"({note(target)} {operator} {note(value)})"
        case t.Conditional():
            return f"({note(node.condition)} ? {note(node.then)} : {note(node.otherwise)})"
        case t.Call():
            hole = " HOLE" if node.missing_arguments else ""
            return f"{note(node.callee)}({', '.join(map(note, node.arguments))}{hole})"
        case t.Launch():
            configuration = ", ".join(map(note, node.configuration))
            return f"{note(node.callee)}<<<{configuration}>>>({', '.join(map(note, node.arguments))})"
        case t.Member():
            return f"{note(node.object)}{'->' if node.arrow else '.'}{node.member}"
        case t.Index():
            return f"{note(node.base)}[{note(node.index)}]"
        case t.Cast():
            return f"cast<{kind(node.type)}>({note(node.operand)})"
        case t.SizeOf():
            return f"sizeof({kind(node.type) if node.type else note(node.operand)})"
        case t.New():
            size = f"[{note(node.array_size)}]" if node.array_size else ""
            return f"new {kind(node.type)}{size}({', '.join(map(note, node.arguments))})"
        case t.Delete():
            return f"delete{'[]' if node.array else ''} {note(node.operand)}"
        case t.InitList():
            items = [(f".{n}=" if n else "") + note(i) for i, n in zip(node.items, node.names, strict=True)]
            return f"{kind(node.type) if node.type else ''}{{{', '.join(items)}}}"
        case t.Lambda():
            captures = [node.default] if node.default else []
            captures += [("&" if r else "") + n + (f"={note(v)}" if v else "") for n, r, v in node.captures]
            parameters = ", ".join(f"{kind(p.type)} {p.name}" for p in node.parameters)
            return f"[{', '.join(captures)}]({parameters}){note(node.body)}"
        case t.StatementExpression():
            return f"({note(node.body)})"
        case t.Unparsed():
            return f"?{' '.join(map(note, node.children))}?"
        case t.Block():
            return "{" + "; ".join(map(note, node.body)) + "}"
        case t.ExpressionStatement():
            return note(node.expression)
        case t.Variable():
            name = ", ".join(node.bindings) if node.bindings else node.name
            dimensions = "".join(f"[{note(d) if d is not None else ''}]" for d in node.type.array)
            text = f"{kind(node.type).removesuffix(dimensions)} {name}{dimensions}"
            if node.initializer is not None:
                text += f" = {note(node.initializer)}"
            if node.arguments is not None:
                text += f"({', '.join(map(note, node.arguments))})"
            flags = [f for f in ("static", "extern", "thread_local", "maybe_function") if getattr(node, f)]
            flags += [node.device] if node.device else []
            return " ".join([*flags, text])
        case t.If():
            init = f"{note(node.init)}; " if node.init else ""
            otherwise = f" else {note(node.otherwise)}" if node.otherwise else ""
            return f"if ({init}{note(node.condition)}) {note(node.then)}{otherwise}"
        case t.For():
            init = "; ".join(map(note, node.init)) or "-"
            return f"for ({init} | {note(node.condition)} | {note(node.step)}) {note(node.body)}"
        case t.RangeFor():
            return f"for ({note(node.variable)} : {note(node.range)}) {note(node.body)}"
        case t.While():
            return f"while ({note(node.condition)}) {note(node.body)}"
        case t.DoWhile():
            return f"do {note(node.body)} while ({note(node.condition)})"
        case t.Switch():
            return f"switch ({note(node.value)}) {note(node.body)}"
        case t.Case():
            return f"case {note(node.value)}:"
        case t.Return():
            return f"return {note(node.value)}"
        case t.Break():
            return "break"
        case t.Continue():
            return "continue"
        case t.Goto():
            return f"goto {node.label}"
        case t.Label():
            return f"{node.label}:"
        case t.Try():
            return f"try {note(node.body)} " + " ".join(f"catch {note(h)}" for h in node.handlers)
        case t.UnparsedStatement():
            return f"??{' '.join(map(note, node.children))}??"
        case t.Function():
            parameters = ", ".join(f"{kind(p.type)} {p.name}".strip() for p in node.parameters)
            return f"function {kind(node.returns)} {node.name}({parameters})"
        case t.Class():
            return f"class {node.name}"
        case t.Alias():
            return f"alias {node.name} = {kind(node.type)}"
        case t.Enum():
            return f"enum {node.name}"
        case t.UsingNamespace():
            return f"using {node.name}"
    raise AssertionError(type(node))


def body(text: str, before: str = "") -> tuple[str, t.Unit]:
    """The notation of statements inside a function, and the unit."""
    unit = read_text(f"{before}\nvoid f() {{\n{text}\n}}\n")
    function = next(d for d in unit.declarations if isinstance(d, t.Function) and d.name == "f")
    assert function.body is not None
    return "; ".join(note(s) for s in function.body.body), unit


def find(unit: t.Unit, name: str) -> t.Statement:
    """The declaration of a name."""
    return next(d for d in unit.declarations if getattr(d, "name", None) == name)

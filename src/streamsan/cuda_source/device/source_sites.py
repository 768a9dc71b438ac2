"""Where operations are issued: spans to sites of the trace, through macros and nested calls."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from streamsan.cuda_source.values.cells import Cell, CellPointer, ElementPointer, Value, cell_name
from streamsan.cuda_source.values.frame import Frame
from streamsan.cuda_syntax.includes import OPENCL_HEADER
from streamsan.cuda_syntax.tree import Expression, Function, Span, Unary
from streamsan.trace.builder import TraceBuilder
from streamsan.trace.site import Site

LONGEST_TEXT = 200


def end_of(span: Span) -> Span:
    """Return the place of a block's closing brace."""
    return Span(span.file, span.end_line, max(1, span.end_column - 1), span.end_line, span.end_column)


class Sites:
    """Turns spans into site ids."""

    def __init__(self, builder: TraceBuilder, lines: Callable[[str], list[str]]) -> None:
        self.builder = builder
        self._lines = lines
        """path of a file that was read -> its lines"""
        self.macros: list[Span] = []
        """Uses of macros around the expression under evaluation, outermost first."""

    def site(self, frame: Frame, span: Span, label: str = "") -> int:
        """Return the site of a place in a frame; code of a macro's body stands where the macro is used."""
        if self.macros:
            span = self.macros[0]
        if span.file == OPENCL_HEADER:
            # What a wrapper of OpenCL's does is done where the program calls it.
            caller = self.builder.site_at(frame.call_site)
            return self.builder.site(replace(caller, label=label[:LONGEST_TEXT])) if label else frame.call_site
        return self.builder.site(
            Site(
                file=span.file,
                line=span.line,
                column=span.column,
                end_line=span.end_line,
                end_column=span.end_column,
                function=frame.function,
                text=self.text(span),
                label=label[:LONGEST_TEXT],
                caller=frame.call_site,
            )
        )

    def is_wrappers(self, function: Function | None) -> bool:
        """Return whether a function stands in OpenCL's header of wrappers."""
        return function is not None and function.span.file == OPENCL_HEADER

    def text(self, span: Span) -> str:
        """Return the source of a span on one line."""
        lines = self._lines(span.file)
        if not 1 <= span.line <= len(lines):
            return ""
        last = min(span.end_line, span.line + 8, len(lines))
        part = lines[span.line - 1 : last]
        if span.end_line == last and span.end_column > 0:
            part[-1] = part[-1][: span.end_column - 1]
        part[0] = part[0][span.column - 1 :]
        return " ".join(" ".join(part).split())[:LONGEST_TEXT]

    def label(self, value: Value, expression: Expression | None) -> str:
        """Return the name of the variable that an out-argument points to."""
        cell: Cell | None = None
        if isinstance(value, CellPointer):
            cell = value.cell
        elif isinstance(value, ElementPointer):
            cell = value.array.cells.get(value.index)
            if cell is None:
                return value.array.label
        name = cell_name(cell) if cell is not None else ""
        if name or expression is None:
            return name
        while isinstance(expression, Unary):
            expression = expression.operand
        return self.text(expression.span)

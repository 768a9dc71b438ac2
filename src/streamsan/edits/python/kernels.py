"""A wait for the kernel before, put at the start of a kernel whose text is a string of a Python program."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from streamsan.edits.python.text import PythonText
from streamsan.edits.variant import Variant
from streamsan.evidence.fix.change_steps import GRID_WAIT, KernelWaits
from streamsan.findings.finding import Edit
from streamsan.rules.case import Case, kernel_name

ASSEMBLY = 'asm volatile("griddepcontrol.wait;" ::: "memory");'
"""what the function of the device runtime is; a text without it needs no header for this"""


def waiting_kernel(step: KernelWaits, case: Case, texts: Mapping[str, PythonText]) -> Iterator[Variant]:
    """Yield the wait in the kernel that begins at once, where one string of several lines has its text."""
    name = kernel_name(case.names.site(step.kernel.site).label)
    if not name:
        return
    begin = re.compile(rf"__global__\b[^;{{}}]*\b{re.escape(name)}\s*\([^;{{}}]*\)\s*\{{")
    found = []
    for file, text in texts.items():
        for node in ast.walk(text.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
                found += [(file, text, node, match) for match in begin.finditer(text.of(node))]
    if len(found) != 1:
        return
    file, text, node, match = found[0]
    before = text.of(node)[: match.end()]
    line, column, _, _ = text.span(node)
    line += before.count("\n")
    column = len(before.rpartition("\n")[2]) + (column if "\n" not in before else 1)
    rest = text.lines[line - 1][column - 1 :]
    following = text.lines[line] if line < len(text.lines) else ""
    if not _is_whole(text.of(node)) or rest.strip():
        return
    call = f"{GRID_WAIT}();" if "cudaTriggerProgrammaticLaunchCompletion" in text.of(node) else ASSEMBLY
    indent = following[: len(following) - len(following.lstrip())]
    edit = Edit(file, line + 1, 1, line + 1, 1, f"{indent}{call}\n")
    yield Variant(f"after line {line}, at the start of `{name}`: {call}", (edit,))


def _is_whole(literal: str) -> bool:
    """Tell whether a string may have quotes and lines put in."""
    return literal.rstrip().endswith(('"""', "'''")) and not literal.lstrip("rRbBuU").startswith(('""""', "''''"))

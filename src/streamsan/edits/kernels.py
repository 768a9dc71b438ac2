"""A wait for the kernel before, put at the start of a kernel's body: in a source, or in a string that has its text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from streamsan.edits.language import AnyLanguage
from streamsan.edits.layout import inserted
from streamsan.edits.variant import Variant
from streamsan.evidence.fix.change_steps import KernelWaits
from streamsan.rules.case import Case
from streamsan.rules.launch_names import kernel_name

_REST = re.compile(r"\s*(//.*)?\Z")


def waiting_kernel(step: KernelWaits, case: Case, language: AnyLanguage) -> Iterator[Variant]:
    """Yield the wait in the kernel that begins at once, where only one kernel has its name."""
    name = kernel_name(case.names.site(step.kernel.site).label)
    begin = re.compile(rf"__global__\b[^;{{}}]*\b{re.escape(name)}\s*\([^;{{}}]*\)\s*\{{")
    texts = {file: "\n".join(text.lines) for file, text in language.files.items()}
    found = [(file, match.end()) for file, text in texts.items() for match in begin.finditer(text)] if name else []
    if len(found) != 1:
        return
    file, end = found[0]
    call, in_line = language.kernel_wait(file)
    line, column = texts[file].count("\n", 0, end) + 1, end - texts[file].rfind("\n", 0, end)
    if _REST.match(texts[file][end:].partition("\n")[0]):
        following = language.files[file].lines[line]
        indent = following[: len(following) - len(following.lstrip())]
        edit = inserted(file, line + 1, 1, f"{indent}{call}\n")
    elif in_line:
        edit = inserted(file, line, column, f" {call}")
    else:
        return
    yield Variant(f"after line {line}, at the start of `{name}`: {call}", (edit,))

"""What can be done about findings: the edit that was tried, or a comment that suppresses the finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from lsprotocol import types

from streamsan.findings.finding import Edit, Finding
from streamsan.language_server.checked_document import CheckedDocument
from streamsan.language_server.finding_diagnostics import diagnostic_of
from streamsan.language_server.suppressing_edits import suppressing_edit

FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.streamsan"
ToEdit = Callable[[Mapping[str, Sequence[types.TextEdit]]], types.WorkspaceEdit]


def is_wanted(kind: str, only: Iterable[str] | None) -> bool:
    """Tell whether a kind of action is among those that a client asks for: they are prefixes; None: all."""
    return only is None or any(kind == each or kind.startswith(f"{each}.") or not each for each in only)


def quick_fixes(
    document: CheckedDocument,
    uri: str,
    place: types.Range,
    text_now: Callable[[str], str | None],
    to_edit: ToEdit,
) -> Iterator[types.CodeAction]:
    """Yield the actions for the findings of one check that stand at a range of a file."""
    for finding in document.findings_at(uri):
        diagnostic = diagnostic_of(finding, document.place_of)
        if not _touch(diagnostic.range, place):
            continue
        fix = finding.fix
        if fix is not None and fix.verified and fix.edits:
            yield from _action(
                f"{finding.code}: {fix.summary}", diagnostic, document.text_edits(fix.edits, text_now), to_edit, True
            )
        if (comment := _comment(document, finding)) is not None:
            title = f"{finding.code}: suppress this finding here"
            yield from _action(title, diagnostic, document.text_edits([comment], text_now), to_edit, False)


def _comment(document: CheckedDocument, finding: Finding) -> Edit | None:
    file = document.files[finding.location.file]
    return None if file.text is None else suppressing_edit(finding, file.text, file.positions)


def _action(
    title: str,
    diagnostic: types.Diagnostic,
    edits: Mapping[str, Sequence[types.TextEdit]] | None,
    to_edit: ToEdit,
    preferred: bool,
) -> Iterator[types.CodeAction]:
    if edits is not None:
        yield types.CodeAction(
            title,
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[diagnostic],
            is_preferred=preferred,
            edit=to_edit(edits),
        )


def _touch(first: types.Range, second: types.Range) -> bool:
    return first.start <= second.end and second.start <= first.end


def within(place: types.Range, position: types.Position) -> bool:
    """Tell whether a range has a position."""
    return place.start <= position <= place.end

"""An editor for tests: pytest-lsp's client beside `streamsan lsp`, on pipes, with inboxes for what the server tells."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.protocol import default_converter
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, LanguageClient, register_lsp_features


class Editor:
    """A client with one folder open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.client = LanguageClient(converter_factory=default_converter)
        self.told: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()
        self.logged: asyncio.Queue[types.LogMessageParams] = asyncio.Queue()
        self.shown: asyncio.Queue[types.ShowMessageParams] = asyncio.Queue()
        inboxes = {
            types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: self.told,
            types.WINDOW_LOG_MESSAGE: self.logged,
            types.WINDOW_SHOW_MESSAGE: self.shown,
        }
        features = {method: _puts_into(queue) for method, queue in inboxes.items()}
        register_lsp_features(self.client, {**DEFAULT_CLIENT_FEATURES, **features})

    async def begin(self, options: dict[str, Any] | None, capabilities: types.ClientCapabilities) -> None:
        """Start the server."""
        await self.client.start_io(sys.executable, "-m", "streamsan", "lsp", "--stdio")
        folder = types.WorkspaceFolder(self.folder.as_uri(), self.folder.name)
        await self.client.initialize_session(
            types.InitializeParams(capabilities, workspace_folders=[folder], initialization_options=options)
        )

    def uri(self, name: str) -> str:
        """Return the URI of a file of the folder."""
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str) -> None:
        """Open a text as a file."""
        item = types.TextDocumentItem(self.uri(name), "cuda", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def change(self, name: str, text: str, version: int) -> None:
        """Type a new text."""
        where = types.VersionedTextDocumentIdentifier(version, self.uri(name))
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(where, [change]))

    def save(self, name: str) -> None:
        """Say that a file is saved."""
        where = types.TextDocumentIdentifier(self.uri(name))
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(where))

    async def actions(
        self, name: str, place: types.Range, only: Sequence[str] | None = None
    ) -> dict[str, types.CodeAction]:
        """Return what the server offers, by the titles."""
        context = types.CodeActionContext([], only=only)
        params = types.CodeActionParams(types.TextDocumentIdentifier(self.uri(name)), place, context)
        found = await self.client.text_document_code_action_async(params)
        assert found is not None
        return {each.title: each for each in found if isinstance(each, types.CodeAction)}

    async def hover(self, name: str, position: types.Position) -> str | None:
        """Return what the server shows at a position."""
        params = types.HoverParams(types.TextDocumentIdentifier(self.uri(name)), position)
        shown = await self.client.text_document_hover_async(params)
        assert shown is None or isinstance(shown.contents, types.MarkupContent)
        return shown.contents.value if shown else None


def _puts_into(queue: asyncio.Queue[Any]) -> Any:
    def feature(client: LanguageClient, params: Any) -> None:
        queue.put_nowait(params)

    return feature


@asynccontextmanager
async def editor(
    folder: Path, options: dict[str, Any] | None = None, *, document_changes: bool = True
) -> AsyncIterator[Editor]:
    """Open a folder in an editor, with a server."""
    capabilities = types.ClientCapabilities(
        workspace=types.WorkspaceClientCapabilities(
            workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=document_changes)
        ),
        window=types.WindowClientCapabilities(work_done_progress=True),
    )
    opened = Editor(folder)
    await opened.begin(options, capabilities)
    try:
        yield opened
    finally:
        await opened.client.shutdown_session()
        await opened.client.stop()


def applied(text: str, edits: Sequence[types.TextEdit]) -> str:
    """Return a text with edits as a client applies them, by UTF-16."""
    data = text.encode("utf-16-le")
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line.encode("utf-16-le")) + 2)

    def offset(position: types.Position) -> int:
        return starts[position.line] + 2 * position.character

    for edit in sorted(edits, key=lambda each: offset(each.range.start), reverse=True):
        new = edit.new_text.encode("utf-16-le")
        data = data[: offset(edit.range.start)] + new + data[offset(edit.range.end) :]
    return data.decode("utf-16-le")

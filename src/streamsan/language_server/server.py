"""The server: keeps what the last check said of each open document, and answers from that."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from streamsan.analysis.suffixes import HEADER_SUFFIXES, SOURCE_SUFFIXES
from streamsan.checking.defects import defect
from streamsan.findings.finding import Finding
from streamsan.language_server.check_process import CheckedText, CheckFailedError
from streamsan.language_server.checked_document import CheckedDocument, text_of_file
from streamsan.language_server.code_actions import FIX_ALL, is_wanted, quick_fixes, within
from streamsan.language_server.editor_settings import EditorSettings, Refusal, SettingError
from streamsan.language_server.finding_diagnostics import diagnostic_of
from streamsan.language_server.finding_hovers import hover_of_comment, hover_of_findings
from streamsan.language_server.patch_edits import edits_of_patch
from streamsan.language_server.text_positions import TextPositions
from streamsan.vocabulary.version import VERSION

SECTION = "streamsan"
PAUSE = 0.7
"""seconds without a key after which a buffer is checked that is not saved"""
AT_ONCE = 2
"""checks that run at a time"""


class StreamsanServer(LanguageServer):
    """One editor's server."""

    def __init__(self, refusal: Refusal) -> None:
        # Whole texts are sent: pygls takes form feeds for ends of lines where it applies changes to parts.
        super().__init__("streamsan", VERSION, text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self._refusal = refusal
        self.settings = EditorSettings()
        self._checked: dict[str, CheckedDocument] = {}
        """by the URI of the document that was checked"""
        self._checks: dict[str, asyncio.Task[None]] = {}
        """the latest check of each document"""
        self._turns = asyncio.Semaphore(AT_ONCE)

    # -- settings ---------------------------------------------------------------------------------

    def take_settings(self, value: object) -> None:
        """Take settings that the client sent; what it may not say is told, and the old ones stay."""
        try:
            self.settings = EditorSettings.of(value, self._refusal)
        except SettingError as error:
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, str(error)))

    async def ask_for_settings(self) -> bool:
        """Take the client's settings, where it answers questions for them. Returns whether it had any."""
        workspace = self.client_capabilities.workspace
        if workspace is None or not workspace.configuration:
            return False
        item = types.ConfigurationItem(section=SECTION)
        try:
            (value,) = await self.workspace_configuration_async(types.ConfigurationParams([item]))
        except (JsonRpcException, ValueError):
            return False
        if value is None:
            return False
        self.take_settings(value)
        return True

    # -- checks -----------------------------------------------------------------------------------

    def check_soon(self, uri: str, pause: float = 0.0) -> None:
        """Check a document as it will be after a pause (seconds); a check of it that runs is ended."""
        if not uri.startswith("file:") or _suffix(uri) not in SOURCE_SUFFIXES:
            return
        self.end_check(uri)
        self._checks[uri] = asyncio.create_task(self._check(uri, pause))

    def saved(self, uri: str) -> None:
        """Check a document that was saved, and where it is a header all others, which may include it."""
        self.check_soon(uri)
        if _suffix(uri) in HEADER_SUFFIXES:
            self.check_all_again()

    def check_all_again(self) -> None:
        """Check every open document."""
        for uri in list(self.workspace.text_documents):
            self.check_soon(uri)

    def end_check(self, uri: str) -> None:
        """End the check of a document, if one runs."""
        if task := self._checks.pop(uri, None):
            task.cancel()

    def close(self, uri: str) -> None:
        """Forget a document, and what was found in it."""
        self.end_check(uri)
        if before := self._checked.pop(uri, None):
            self._publish(before.uris | {uri})

    async def _check(self, uri: str, pause: float) -> None:
        await asyncio.sleep(pause)
        async with self._turns:
            document = self.workspace.get_text_document(uri)
            version, text = document.version, self._asked_of(uri, document.source)
            try:
                async with self._shown(text.name):
                    await self._find(uri, version, text)
            except (CheckFailedError, OSError) as error:
                self._log(f"{text.name}: not checked: {error}")
            except Exception as error:
                self._log(f"{text.name}: {defect(error)}")

    async def _find(self, uri: str, version: int | None, text: CheckedText) -> None:
        """Keep what is found in a text, then once more with edits, where some may be. Raises CheckFailedError."""
        began = time.time()
        try:
            findings = await text.findings()
        except CheckFailedError:
            # What the last check said may be about other lines by now.
            self._keep(uri, version, text, (), began)
            raise
        self._keep(uri, version, text, findings, began)
        if any(each.fix is not None and each.fix.verified for each in findings):
            began = time.time()
            self._keep(uri, version, text, await text.with_edits(), began)

    def _asked_of(self, uri: str, text: str) -> CheckedText:
        path = os.path.abspath(uris.to_fs_path(uri) or "")
        folders = [uris.to_fs_path(each) for each in self.workspace.folders] or [self.workspace.root_path]
        around = [folder for folder in folders if folder and Path(path).is_relative_to(folder)]
        folder = max(around, key=len, default=os.path.dirname(path))
        name = os.path.relpath(path, folder)
        return CheckedText(name, text, folder, self.settings.arguments, self.settings.timeout)

    def _keep(
        self, uri: str, version: int | None, text: CheckedText, findings: Sequence[Finding], began: float
    ) -> None:
        known = {
            os.path.realpath(path): each
            for each in self.workspace.text_documents
            if (path := uris.to_fs_path(each)) is not None
        }
        codec = self.workspace.position_codec
        new = CheckedDocument.of(uri, version, text.text, text.name, text.folder, findings, codec, known, began)
        old = self._checked.get(uri)
        self._checked[uri] = new
        self._publish(new.uris | {uri} | (old.uris if old else set()))

    def _publish(self, places: set[str]) -> None:
        """Tell what is found in some files now, by all checks: a header is read for several sources."""
        for uri in sorted(places):
            found: list[types.Diagnostic] = []
            for document in self._checked.values():
                found += [each for each in document.diagnostics_at(uri) if each not in found]
            own = self._checked.get(uri)
            version = own.version if own else None
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    # -- answers ----------------------------------------------------------------------------------

    def text_now(self, uri: str) -> str | None:
        """Return the text of a file: the editor's, where it is open there."""
        if uri in self.workspace.text_documents:
            return self.workspace.get_text_document(uri).source
        path = uris.to_fs_path(uri)
        return text_of_file(path) if path else None

    def hover(self, uri: str, position: types.Position) -> str:
        """Return what to show at a position, "" for nothing."""
        here = []
        for document in self._checked.values():
            here += [
                finding
                for finding in document.findings_at(uri)
                if finding not in here and within(diagnostic_of(finding, document.place_of).range, position)
            ]
        if here:
            return hover_of_findings(here)
        codec = self.workspace.position_codec
        lines = TextPositions(self.text_now(uri) or "", codec).lines
        if position.line >= len(lines):
            return ""
        column = codec.position_from_client_units(lines, position).character + 1
        return hover_of_comment(lines[position.line], column)

    async def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """Return what can be done at a range."""
        uri, only = params.text_document.uri, params.context.only
        kinds = None if only is None else [getattr(kind, "value", kind) for kind in only]
        found: list[types.CodeAction] = []
        if is_wanted(types.CodeActionKind.QuickFix.value, kinds):
            for document in self._checked.values():
                for action in quick_fixes(document, uri, params.range, self.text_now, self._edit):
                    found += [] if action in found else [action]
        # All fixes at once are tried when they are asked for by their kind, of the text as it is then.
        if kinds is not None and is_wanted(FIX_ALL, kinds):
            found += await self._fix_all(uri)
        return found

    async def _fix_all(self, uri: str) -> list[types.CodeAction]:
        document = self.workspace.get_text_document(uri)
        text = self._asked_of(uri, document.source)
        began = time.time()
        try:
            async with self._shown(text.name):
                patch = await text.patch()
        except (CheckFailedError, OSError) as error:
            self._log(f"{text.name}: not fixed: {error}")
            return []
        codec = self.workspace.position_codec
        asked = CheckedDocument.of(uri, document.version, text.text, text.name, text.folder, (), codec, {}, began)
        edits = asked.text_edits(edits_of_patch(patch, text.name, text.text), self.text_now)
        if not edits:
            return []
        return [types.CodeAction("streamsan: fix all that can be fixed", kind=FIX_ALL, edit=self._edit(edits))]

    def _edit(self, edits: Mapping[str, Sequence[types.TextEdit]]) -> types.WorkspaceEdit:
        """Return an edit, for the versions that the client has now where it heeds them."""
        workspace = self.client_capabilities.workspace
        if workspace is None or workspace.workspace_edit is None or not workspace.workspace_edit.document_changes:
            return types.WorkspaceEdit(changes={uri: list(each) for uri, each in edits.items()})
        changes = []
        for uri, each in edits.items():
            is_open = uri in self.workspace.text_documents
            version = self.workspace.get_text_document(uri).version if is_open else None
            changes.append(
                types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, version), list(each))
            )
        return types.WorkspaceEdit(document_changes=changes)

    # -- what the client shows --------------------------------------------------------------------

    def _log(self, line: str) -> None:
        self.window_log_message(types.LogMessageParams(types.MessageType.Warning, " ".join(line.split())))

    @asynccontextmanager
    async def _shown(self, name: str) -> AsyncIterator[None]:
        """Have the client show that a file is checked, where it can."""
        window = self.client_capabilities.window
        if window is None or not window.work_done_progress:
            yield
            return
        token = str(uuid.uuid4())
        progress = self.work_done_progress
        await progress.create_async(token)
        progress.begin(token, types.WorkDoneProgressBegin(title=f"streamsan: {name}"))
        try:
            yield
        finally:
            progress.end(token, types.WorkDoneProgressEnd())
            progress.tokens.pop(token, None)


def _suffix(uri: str) -> str:
    return Path(uris.to_fs_path(uri) or "").suffix.lower()


def make_server(refusal: Refusal) -> StreamsanServer:
    """Make the server, with what it answers to."""
    server = StreamsanServer(refusal)

    @server.feature(types.INITIALIZE)
    def initialize(server: StreamsanServer, params: types.InitializeParams) -> None:
        server.take_settings(params.initialization_options)

    @server.feature(types.INITIALIZED)
    async def initialized(server: StreamsanServer, params: types.InitializedParams) -> None:
        if await server.ask_for_settings():
            server.check_all_again()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def settings(server: StreamsanServer, params: types.DidChangeConfigurationParams) -> None:
        if not await server.ask_for_settings():
            given = params.settings
            server.take_settings(given.get(SECTION) if isinstance(given, Mapping) else given)
        server.check_all_again()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(server: StreamsanServer, params: types.DidOpenTextDocumentParams) -> None:
        server.check_soon(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(server: StreamsanServer, params: types.DidSaveTextDocumentParams) -> None:
        server.saved(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(server: StreamsanServer, params: types.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        if server.settings.while_typing:
            server.check_soon(uri, PAUSE)
        else:
            server.end_check(uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(server: StreamsanServer, params: types.DidCloseTextDocumentParams) -> None:
        server.close(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(server: StreamsanServer, params: types.HoverParams) -> types.Hover | None:
        shown = server.hover(params.text_document.uri, params.position)
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, shown)) if shown else None

    kinds = [types.CodeActionKind.QuickFix, FIX_ALL]

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=kinds))
    async def actions(server: StreamsanServer, params: types.CodeActionParams) -> list[types.CodeAction]:
        return await server.actions(params)

    return server

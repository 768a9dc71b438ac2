"""`streamsan lsp` beside a client library (pytest-lsp), as an editor starts it: on pipes, with a process per check."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path

import pytest
from lsprotocol import types

from language_server.editor import Editor, applied, editor

pytestmark = pytest.mark.deep  # each check is a process that begins from nothing

RACE = """#include <cuda_runtime.h>
#include "sizes.h"
__global__ void fill(float* p) { p[0] = 1; }
int main() {
    cudaStream_t s, t;
    cudaStreamCreate(&s);
    cudaStreamCreate(&t);
    float* d;
    cudaMallocAsync(&d, SIZE, s);
    cudaStreamSynchronize(s);
    fill<<<1, 1, 0, t>>>(d);
    /* é😀 */ cudaFreeAsync(d, s);
    cudaDeviceSynchronize();
}
"""
CODE = "SS102"
TYPED = RACE.replace("float* d;", "float* d;  // the block")


def run(session: Coroutine[None, None, None]) -> None:
    asyncio.run(asyncio.wait_for(session, 30))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "sizes.h").write_text("#define SIZE 64\n")
    (tmp_path / "a.cu").write_text(RACE)
    return tmp_path


async def races(editor_: Editor) -> types.Diagnostic:
    """Return the one race that the next report tells."""
    (found,) = [each for each in (await editor_.told.get()).diagnostics if each.code == CODE]
    return found


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_source_is_checked_hovered_fixed_and_checked_again(folder: Path, newline: str) -> None:
    async def session() -> None:
        text = RACE.replace("\n", newline)
        async with editor(folder, {"arguments": ["-I", "include"]}) as open_:
            open_.open("a.cu", text)
            race = await races(open_)
            line = RACE.split("\n")[race.range.start.line]
            assert line.encode("utf-16-le")[2 * race.range.start.character :].decode("utf-16-le").startswith("cudaFree")
            assert race.severity == types.DiagnosticSeverity.Error
            assert race.source == "streamsan"
            assert race.code_description is not None
            assert race.code_description.href.endswith(f"/{CODE}.md")
            assert [each.location.uri for each in race.related_information or ()] == [open_.uri("a.cu")] * 3
            await races(open_)  # once more, with edits
            shown = await open_.hover("a.cu", race.range.start)
            assert shown is not None
            for word in ("**Contract:**", "**Observed:**", "**Witness:**", "**Fix (verified):**", "What it reports"):
                assert word in shown
            assert await open_.hover("a.cu", types.Position(0, 0)) is None
            offered = await open_.actions("a.cu", race.range)
            fix, suppress = offered.values()
            assert fix.is_preferred
            assert fix.edit is not None
            (change,) = fix.edit.document_changes or ()
            assert isinstance(change, types.TextDocumentEdit)
            assert change.text_document.version == 1
            fixed = applied(text, [each for each in change.edits if isinstance(each, types.TextEdit)])
            assert fixed == text.replace("cudaFreeAsync(d, s)", "cudaFreeAsync(d, t)")
            (fix_all,) = (await open_.actions("a.cu", race.range, ["source.fixAll"])).values()
            assert fix_all.edit is not None
            (change,) = fix_all.edit.document_changes or ()
            assert isinstance(change, types.TextDocumentEdit)
            assert applied(text, [each for each in change.edits if isinstance(each, types.TextEdit)]) == fixed
            assert suppress.edit is not None
            (change,) = suppress.edit.document_changes or ()
            assert isinstance(change, types.TextDocumentEdit)
            silent = applied(text, [each for each in change.edits if isinstance(each, types.TextEdit)])
            (added,) = set(silent.split(newline)) - set(text.split(newline))
            assert added == f"    // streamsan: ignore[{CODE}]"
            for version, without in enumerate((silent, fixed), 2):
                open_.change("a.cu", without, version)
                told = await open_.told.get()
                assert told.version == version
                assert CODE not in {each.code for each in told.diagnostics}
            assert await open_.actions("a.cu", race.range, ["source.fixAll"]) == {}
            reports = open_.client.progress_reports.values()
            assert reports
            assert all([each.kind for each in report] == ["begin", "end"] for report in reports)
            assert open_.logged.empty()
            assert open_.shown.empty()

    run(session())


def test_no_edit_is_offered_of_a_text_that_was_not_checked(folder: Path) -> None:
    async def session() -> None:
        options = {"arguments": ["-Iinclude"], "whileTyping": False}
        async with editor(folder, options, document_changes=False) as open_:
            open_.open("a.cu", RACE)
            await races(open_)
            race = await races(open_)
            open_.change("a.cu", TYPED, 2)
            assert await open_.actions("a.cu", race.range) == {}
            open_.save("a.cu")
            await races(open_)
            race = await races(open_)
            offered = await open_.actions("a.cu", race.range)
            assert len(offered) == 2
            assert all(each.edit is not None and each.edit.changes for each in offered.values())

    run(session())


def test_what_goes_wrong_is_one_line_and_the_server_lives(folder: Path) -> None:
    async def session() -> None:
        async with editor(folder, {"arguments": ["--fix"]}) as open_:
            assert "--fix is not for editors" in (await open_.shown.get()).message
            settings = types.DidChangeConfigurationParams({"streamsan": {"timeout": 0.001}})
            open_.client.workspace_did_change_configuration(settings)
            open_.open("a.cu", RACE)
            assert (await open_.told.get()).diagnostics == ()
            assert (await open_.logged.get()).message == (
                "a.cu: not checked: the check took longer than 0.001 s and was ended"
            )
            settings = types.DidChangeConfigurationParams({"streamsan": {"arguments": ["-I", "nowhere"]}})
            open_.client.workspace_did_change_configuration(settings)
            assert (await open_.logged.get()).message == "a.cu: not checked: -I: nowhere: no such folder"
            assert (await open_.told.get()).diagnostics == ()
            settings = types.DidChangeConfigurationParams({"streamsan": {"arguments": ["-Iinclude"]}})
            open_.client.workspace_did_change_configuration(settings)
            await races(open_)
            open_.client.text_document_did_close(
                types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(open_.uri("a.cu")))
            )
            while (await open_.told.get()).diagnostics:
                pass

    run(session())

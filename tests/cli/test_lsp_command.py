"""`streamsan lsp`: what is missing is named."""

from __future__ import annotations

import sys

import pytest
from click.testing import CliRunner

from streamsan.cli.verbs import streamsan


def test_a_missing_library_is_named_with_the_extra_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [each for each in sys.modules if each.startswith(("pygls", "streamsan.language_server."))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "pygls", None)
    done = CliRunner().invoke(streamsan, ["lsp"])
    assert done.exit_code == 1
    assert "lsp needs the package `pygls`: pip install 'streamsan[lsp]'" in done.output

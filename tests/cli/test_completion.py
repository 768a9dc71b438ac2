"""Shell completion, as click's scripts for the shells ask for it."""

from __future__ import annotations

import pytest

from streamsan.cli import main


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("streamsan ch", ["check"]),
        ("streamsan check --select ss50", ["SS501", "SS502", "SS503", "SS504"]),
        ("streamsan check --ignore SS107,SS50", ["SS107,SS501", "SS107,SS502", "SS107,SS503", "SS107,SS504"]),
        ("streamsan rule SS20", ["SS201", "SS202", "SS203", "SS204", "SS205", "SS206", "SS207", "SS208", "SS209"]),
        ("streamsan check --format g", ["github", "gitlab"]),
    ],
)
def test_words_are_completed(
    words: str, found: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_STREAMSAN_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    with pytest.raises(SystemExit):
        main([])
    assert [line.removeprefix("plain,") for line in capsys.readouterr().out.split()] == found

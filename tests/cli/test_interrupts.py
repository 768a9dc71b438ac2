"""Ctrl-C at any moment of a start is one line, not a traceback."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

START = """
import os, signal, sys
def interrupt(event, arguments):
    if event == "import" and arguments[0] == os.environ.get("MOMENT"):
        del os.environ["MOMENT"]
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(interrupt)
from streamsan.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("moment", ["streamsan.cli", "click", "streamsan.cli.verbs", "streamsan.rules.catalogue"])
def test_an_interrupt_while_something_is_imported(moment: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", START, "rule"],
        env={"PYTHONPATH": ":".join(sys.path), "MOMENT": moment},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert (done.returncode, done.stderr.strip()) == (130, "streamsan: interrupted")

"""A suite's scripts as tests of pytest, each with its arguments: it is to end with 0.

`bench/framework_suites.py` names them in the environment, and this file to pytest.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys

import pytest


@pytest.mark.parametrize("script", json.loads(os.environ.get("STREAMSAN_SCRIPTS", "[]")))
def test_script(script: str) -> None:
    """Run a script, in the suite's folder."""
    done = subprocess.run([sys.executable, *shlex.split(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-300:]

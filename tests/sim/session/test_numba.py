"""Numba on the simulated device, by NVIDIA's bindings: what its streams, copies and kernels need shows."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streamsan.sim.numba_settings import BINDINGS, DRIVER, calls_bindings, numba_settings

PROGRAM = """
import numpy as np
from numba import cuda

fill, use = cuda.stream(), cuda.stream()
source = cuda.to_device(np.arange(64, dtype=np.float32))
x = cuda.device_array(64, np.float32)
done = cuda.event()
x.copy_to_device(source, stream=fill)
done.record(fill)
{wait}
host = cuda.pinned_array(64, np.float32)
x.copy_to_host(host, stream=use)
use.synchronize()
"""


def test_programs_are_given_the_settings_that_lead_numba_to_the_bindings() -> None:
    found = numba_settings({})
    assert found[BINDINGS] == "1"
    assert Path(found[DRIVER]).is_file()


@pytest.mark.parametrize("own", [{BINDINGS: "0"}, {BINDINGS: "0", DRIVER: "/x/libcuda.so"}])
def test_what_the_user_has_set_stays(own: dict[str, str]) -> None:
    assert numba_settings(own) == {}


@pytest.mark.parametrize("bindings", [False, True])
def test_numba_is_seen_where_it_calls_the_bindings(bindings: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = SimpleNamespace(USE_NV_BINDING=bindings)
    monkeypatch.setitem(sys.modules, "numba.cuda.cudadrv.driver", module)
    assert calls_bindings() is bindings


@pytest.mark.deep
@pytest.mark.skipif(
    importlib.util.find_spec("numba") is None or importlib.util.find_spec("numba_cuda") is not None,
    reason="needs numba without numba-cuda: pip install 'streamsan[numba]'",
)
@pytest.mark.parametrize(("wait", "codes"), [("done.wait(use)", []), ("", ["SS109"])])
def test_a_wait_that_is_missing_between_numbas_streams_is_found(wait: str, codes: list[str], tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(PROGRAM.format(wait=wait), encoding="utf-8")
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "streamsan", "--no-config", "sim", "--no-fixes", "--format", "json"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [*command, "--report", str(report), "app.py"], cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    found = json.loads(report.read_text(encoding="utf-8"))["findings"]
    assert [one["code"] for one in found if one["severity"] != "note"] == codes
    assert not [one for one in found if one["code"] == "SS603"]

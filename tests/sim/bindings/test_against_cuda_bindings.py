"""The simulated modules have the names, signatures, enumerations, structures and results of the real ones."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from recorded_session import RecordedSession

from streamsan.generate import extract_bindings as generate
from streamsan.model.values import Outcome
from streamsan.platforms import CUDA
from streamsan.platforms.python_bindings import catalogue
from streamsan.sim import function_calls, module_calls
from streamsan.sim.bindings import v2_modules
from streamsan.sim.bindings.binding_modules import driver, runtime
from streamsan.sim.session import Session

real_driver: Any = pytest.importorskip("cuda.bindings.driver")
real_runtime: Any = pytest.importorskip("cuda.bindings.runtime")
import cuda.bindings  # noqa: E402

PAIRS = [("runtime", runtime, real_runtime), ("driver", driver, real_driver)]
SAME_VERSION = cuda.bindings.__version__ == catalogue("runtime").version

LOADING = module_calls.HANDLERS | function_calls.HANDLERS


def functions(module: str, real: Any) -> list[str]:
    return [name for name in catalogue(module).functions if hasattr(real, name)]


@pytest.mark.parametrize(("module", "ours", "real"), PAIRS, ids=["runtime", "driver"])
def test_every_public_name_is_there(module: str, ours: Any, real: Any) -> None:
    """A later cuda-bindings may have more names, and has all that are here."""
    imported = {"Any", "Optional", "IntEnum", "CUuuid_st"}
    theirs = {
        name
        for name in dir(real)
        if name.startswith(("cu", "CU", "make_", "sizeof")) and not inspect.ismodule(getattr(real, name))
    } - imported
    names = {name for name in dir(ours) if name.startswith(("cu", "CU", "make_", "sizeof"))} - imported
    assert len(names) > 500
    assert not names - theirs - {name for name in names if name.startswith("CUstreamMemOp")}
    if SAME_VERSION:
        assert not theirs - names


def test_the_second_surface_is_that_of_the_real_one() -> None:
    """What is listed in `cuda.bindings._v2` is there, with the same parameters, members and base classes."""
    for ours in (v2_modules.driver, v2_modules.nvrtc):
        real: Any = pytest.importorskip(ours.__name__)
        for name in dir(ours):
            if name.startswith("__") or not SAME_VERSION:
                continue
            mine, theirs = getattr(ours, name), getattr(real, name, None)
            if isinstance(mine, type) and issubclass(mine, int):
                assert name == "GLDeviceList" or members(mine) == members(theirs), name
            elif isinstance(mine, type):
                assert issubclass(theirs, Exception), name
            elif callable(mine):
                given = re.findall(r"(\w+)(?:=None)?(?:, |$)", theirs.__doc__.split("(", 1)[1].split(")", 1)[0])
                assert list(inspect.signature(mine).parameters) == given, name
            else:
                assert mine == theirs, name


def members(kind: Any) -> dict[str, int]:
    return {name: int(value) for name, value in kind.__members__.items()}


def test_the_data_are_what_the_generator_reads() -> None:
    new = CUDA.bindings["new"]
    if new["version"] == cuda.bindings.__version__:
        assert json.loads(json.dumps(generate.dump())) == new
    assert all(len(new[module][section]) > 30 for module in generate.MODULES for section in generate.SECTIONS)


@pytest.mark.parametrize(("module", "ours", "real"), PAIRS, ids=["runtime", "driver"])
def test_functions_take_the_same_parameters(module: str, ours: Any, real: Any) -> None:
    compared = functions(module, real)
    assert len(compared) > 300
    for name in compared:
        theirs = inspect.signature(getattr(real, name)).parameters
        assert list(inspect.signature(getattr(ours, name)).parameters) == list(theirs), name


@pytest.mark.parametrize(("module", "ours", "real"), PAIRS, ids=["runtime", "driver"])
def test_enumerations_have_the_same_members(module: str, ours: Any, real: Any) -> None:
    for name in catalogue(module).enums:
        if hasattr(real, name):
            theirs = {key: int(value) for key, value in getattr(real, name).__members__.items()}
            assert {key: int(value) for key, value in getattr(ours, name).__members__.items()} == theirs, name


@pytest.mark.parametrize(("module", "ours", "real"), PAIRS, ids=["runtime", "driver"])
def test_constants_and_sizes_are_the_same(module: str, ours: Any, real: Any) -> None:
    entries = catalogue(module)
    if SAME_VERSION:
        assert {name: getattr(real, name) for name in entries.constants} == dict(entries.constants)
    for name, size in entries.sizes.items():
        assert real.sizeof(getattr(real, name)) == size == ours.sizeof(getattr(ours, name)), name


@pytest.mark.parametrize(("module", "ours", "real"), PAIRS, ids=["runtime", "driver"])
def test_handles_show_and_compare_as_theirs(module: str, ours: Any, real: Any) -> None:
    for name in catalogue(module).handles:
        mine, theirs = getattr(ours, name)(5), getattr(real, name)(5)
        assert repr(mine) == repr(theirs), name
        assert int(mine) == int(theirs) == 5
        bases = [base.__name__ for base in type(theirs).__mro__[:-1]]
        assert [base.__name__ for base in type(mine).__mro__][: len(bases)] == bases, name


@pytest.mark.parametrize(("module", "ours", "real"), PAIRS, ids=["runtime", "driver"])
def test_structures_have_the_same_attributes_and_defaults(module: str, ours: Any, real: Any) -> None:
    for name in catalogue(module).structures:
        if not hasattr(real, name) or name.startswith(("anon_", "CUstreamMemOp")):
            continue  # only parts of others
        mine, theirs = getattr(ours, name)(), getattr(real, name)()
        for attribute in (key for key in dir(theirs) if not key.startswith("_")):
            try:
                value = getattr(theirs, attribute)
            except ValueError:
                continue  # cuda.bindings has no member for 0 here and refuses to show the field
            if callable(value):
                continue
            shown = getattr(mine, attribute)
            if isinstance(value, int | float | bytes) or type(value).__name__ == "list":
                # Text ends at its first zero there; here it has all its bytes.
                empty = isinstance(value, bytes) and not value.strip(b"\0") and not shown.strip(b"\0")
                same = shown == value or empty
                assert same or [type(one).__name__ for one in shown] == [type(one).__name__ for one in value], (
                    name,
                    attribute,
                )
            else:
                assert type(shown).__name__ == type(value).__name__, (name, attribute)


def default(real: Any, word: str) -> Any:
    """An argument that a function accepts."""
    kind = getattr(real, word.removesuffix("?"), None)
    if word.startswith("list["):
        return []
    if word in ("char *", "bytes"):
        return b"x"
    if kind is None or word == "Any" or hasattr(kind, "__int__"):
        return 0
    if hasattr(kind, "__members__"):
        return next(iter(kind))
    return None if word.endswith("?") else kind()


WITHOUT_DEVICE = """
import cuda.bindings.runtime as real
from test_against_cuda_bindings import default
from streamsan.platforms.python_bindings import catalogue
assert int(real.cudaGetDeviceCount()[0])
for name in catalogue("runtime").functions:
    if not hasattr(real, name):
        continue
    entry = catalogue("runtime").function(name)
    try:
        result = getattr(real, name)(*(default(real, item.word) for item in entry.parameters))
    except (TypeError, AttributeError):
        continue
    print(name, len(result) if isinstance(result, tuple) else 0, flush=True)
"""


def test_results_are_as_many_as_theirs(session: RecordedSession) -> None:
    """Without a device the real functions fail, but with as many results as they have."""
    folder = Path(__file__).resolve().parent
    code = f"import sys; sys.path[:0] = {[str(folder), *sys.path]!r}\n{WITHOUT_DEVICE}"
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=hidden, check=False
    )
    lengths = dict(line.split() for line in done.stdout.splitlines())
    assert len(lengths) > 300, done.stderr
    for name, length in lengths.items():
        entry = catalogue("runtime").function(name)
        assert entry is not None
        if name in LOADING:
            continue
        session.answers[name] = Outcome(1, {})
        result = getattr(runtime, name)(*(default(runtime, item.word) for item in entry.parameters))
        assert (len(result) if isinstance(result, tuple) else 0) == int(length), name


@pytest.mark.parametrize(("module", "ours", "real"), PAIRS, ids=["runtime", "driver"])
def test_functions_about_programs_have_as_many_results(simulated: Session, module: str, ours: Any, real: Any) -> None:
    asked = [name for name in catalogue(module).functions if name in LOADING]
    assert asked
    for name in asked:
        entry = catalogue(module).function(name)
        assert entry is not None
        result = getattr(ours, name)(*(default(ours, item.word) for item in entry.parameters))
        assert len(result) == 1 + len(entry.returned), name


WRONG = [
    ("cudaMalloc", ("x",)),
    ("cudaMalloc", (-1,)),
    ("cudaMalloc", ()),
    ("cudaMalloc", (1, 2)),
    ("cudaFree", ("x",)),
    ("cudaFree", (-1,)),
    ("cudaStreamSynchronize", ("x",)),
    ("cudaMemcpy", (0, 0, 1, None)),
    ("cudaMemcpy", (0, 0, 1, "a")),
    ("cudaMemcpy", (0, 0, "x", 1)),
    ("cudaMemcpy3D", (5,)),
    ("cudaMemset3D", (None, 0, None)),
    ("cudaDeviceGetByPCIBusId", ("text",)),
    ("cudaGraphAddEmptyNode", (0, [1], 1)),
    ("cudaGraphAddEmptyNode", (0, 5, 0)),
    ("cudaGraphAddEmptyNode", (0, [], 1)),
    ("cudaLaunchHostFunc", (0, "x", 0)),
    ("cudaMemPoolSetAttribute", (0, real_runtime.cudaMemPoolAttr.cudaMemPoolAttrReleaseThreshold, 5)),
    ("cudaGetErrorString", (None,)),
    ("cudaSetDevice", (1 << 40,)),
    ("cudaEventElapsedTime", (object(), 0)),
]


@pytest.mark.parametrize(("name", "arguments"), WRONG, ids=[f"{name}{index}" for index, (name, _) in enumerate(WRONG)])
def test_wrong_arguments_raise_what_they_raise_there(
    session: RecordedSession, name: str, arguments: tuple[Any, ...]
) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError, RuntimeError, AttributeError)) as theirs:
        getattr(real_runtime, name)(*arguments)
    with pytest.raises(theirs.type):
        getattr(runtime, name)(*arguments)
    assert session.calls == []

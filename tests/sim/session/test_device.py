from __future__ import annotations

import os
import sys
import threading
from importlib.metadata import entry_points

import pytest
from simulated_cuda import ok, runtime

from streamsan.sim import active
from streamsan.testing import device

pytest_plugins = ["pytester"]


def codes(found: object) -> set[str]:
    return {finding.code for finding in found.findings() if finding.severity.value != "note"}  # type: ignore[attr-defined]


def test_imports_are_simulated_inside_and_as_before_outside() -> None:
    before = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "cuda"}
    start, leave = threading.Thread.start, os._exit
    with device():
        from cuda import cuda, cudart
        from cuda.bindings import driver, nvrtc, runtime

        assert runtime is cudart
        assert driver is cuda
        assert nvrtc.__name__ == "streamsan.sim.bindings.nvrtc_functions"
        with pytest.raises(ImportError, match=r"cuda\.core is not simulated"):
            import cuda.core  # type: ignore[import-not-found,unused-ignore]
    assert {name: module for name, module in sys.modules.items() if name.split(".")[0] == "cuda"} == before
    assert active.current() is None
    assert threading.Thread.start is start
    assert os._exit is leave


def test_findings_so_far_and_at_the_end() -> None:
    with device() as found:
        p = ok(runtime.cudaMalloc(64))
        ok(runtime.cudaFree(p))
        assert not codes(found)
        found.check()
        assert int(runtime.cudaFree(p)[0]) == 1
        assert codes(found) == {"SS201"}
    assert codes(found) == {"SS201"}
    with pytest.raises(AssertionError, match=r"error\[SS201\]: `p` is freed twice") as raised:
        found.check()
    assert "p = ok(runtime.cudaMalloc(64))" in str(raised.value)


def test_devices_and_words_that_are_none() -> None:
    with device(devices=3, driver="h200", schedule="lazy"):
        assert ok(runtime.cudaGetDeviceCount()) == 3
    for wrong in ({"schedule": "sometimes"}, {"driver": "other"}, {"devices": 0}, {"schedule": -1}):
        with pytest.raises(ValueError, match=r"\w"), device(**wrong):  # type: ignore[arg-type]
            pass


def test_a_forked_child_is_part_of_the_trace() -> None:
    with device() as found:
        ok(runtime.cudaFree(ok(runtime.cudaMalloc(64))))
        child = os.fork()
        if child == 0:
            os._exit(int(runtime.cudaMalloc(64)[0]))
        status = os.waitpid(child, 0)[1]
        assert os.waitstatus_to_exitcode(status) == 3
        ok(runtime.cudaDeviceSynchronize())
    assert codes(found) == {"SS204"}
    trace = found.trace()
    assert [thread.process for thread in trace.threads] == [0, 1]
    assert trace.problems == []


def test_a_child_of_a_fresh_parent_works_and_may_have_children() -> None:
    with device() as found:
        child = os.fork()
        if child == 0:
            ok(runtime.cudaFree(ok(runtime.cudaMalloc(64))))
            grandchild = os.fork()
            if grandchild == 0:
                os._exit(int(runtime.cudaDeviceSynchronize()[0]))
            os._exit(os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        ok(runtime.cudaFree(ok(runtime.cudaMalloc(64))))
    assert codes(found) == {"SS204"}
    trace = found.trace()
    assert {thread.process for thread in trace.threads} == {0, 1, 2}
    sequences = [int(slot["sequence"]) for chunk in trace.chunks() for slot in chunk if slot["kind"] < 240]
    assert sequences == list(range(1, len(sequences) + 1))


def test_a_child_that_is_killed_leaves_what_it_did() -> None:
    with device() as found:
        ok(runtime.cudaFree(0))
        child = os.fork()
        if child == 0:
            runtime.cudaMalloc(64)
            os.kill(os.getpid(), 9)
        os.waitpid(child, 0)
    assert codes(found) == {"SS204"}
    assert found.trace().problems == []


INSTALLED = any(point.name == "streamsan" for point in entry_points(group="pytest11"))
PLUGIN = ("-p", "no:cacheprovider") + (() if INSTALLED else ("-p", "streamsan.testing.pytest_plugin"))


def test_the_fixture_fails_a_test_on_findings(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        def test_right(simulated_device):
            from cuda.bindings import runtime
            assert int(runtime.cudaFree(runtime.cudaMalloc(64)[1])[0]) == 0

        def test_wrong(simulated_device):
            from cuda.bindings import runtime
            p = runtime.cudaMalloc(64)[1]
            runtime.cudaFree(p)
            runtime.cudaFree(p)

        @pytest.mark.streamsan(devices=2, schedule="eager")
        def test_options(simulated_device):
            from cuda.bindings import runtime
            assert runtime.cudaGetDeviceCount()[1] == 2
        """
    )
    result = pytester.runpytest_inprocess(*PLUGIN, "--strict-markers")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*error?SS201?: `p` is freed twice*"])


def test_module_level_imports_are_simulated_on_request(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from cuda.bindings import runtime

        def test_right(simulated_device):
            assert int(runtime.cudaDeviceSynchronize()[0]) == 0
        """
    )
    result = pytester.runpytest_inprocess(*PLUGIN, "--simulate-cuda")
    result.assert_outcomes(passed=1)

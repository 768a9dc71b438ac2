"""`cuda.bindings._v2`: snake_case, plain numbers, exceptions; everything is made from `cuda.bindings` by rule."""

from __future__ import annotations

import ctypes
import importlib
import inspect

import pytest

from streamsan.platforms.python_bindings import catalogue
from streamsan.sim.bindings import v2_names
from streamsan.sim.bindings.v2_modules import driver, nvrtc
from streamsan.sim.session import Session
from streamsan.testing import device

SOURCE = b"""extern "C" __global__ void scale(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }"""
HOST = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def compiled() -> int:
    program = nvrtc.create_program(SOURCE, b"scale.cu")
    nvrtc.compile_program(program, [b"-arch=sm_90"])
    module = driver.module_load_data(nvrtc.get_cubin(program))
    nvrtc.destroy_program(program)
    kernel = driver.module_get_function(module, b"scale")
    assert type(kernel) is int
    return kernel


def launched_and_freed(*, waits: bool) -> tuple[list[tuple[str, int]], int]:
    """Use memory of one stream in another; return the findings by line, and the line of the free."""
    with device() as found:
        driver.init(0)
        driver.ctx_create_v4(None, 0, driver.device_get(0))
        kernel = compiled()
        home, other = driver.stream_create(driver.StreamFlags.NON_BLOCKING), driver.stream_create(1)
        event = driver.event_create(driver.EventFlags.DISABLE_TIMING)
        data = driver.mem_alloc_async(256, home)
        driver.memset_d32_async(data, 0, 64, home)
        driver.event_record(event, home)
        driver.stream_wait_event(other, event, 0)
        arguments = ((data, 64), (ctypes.c_void_p, ctypes.c_int))
        driver.launch_kernel(kernel, 1, 1, 1, 64, 1, 1, 0, other, arguments, 0)
        if waits:
            driver.event_record(event, other)
            driver.stream_wait_event(home, event, 0)
        line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
        driver.mem_free_async(data, home)
        driver.stream_synchronize(home)
        driver.stream_synchronize(other)
    return [(one.code, one.location.line) for one in found.findings() if one.code.startswith("SS1")], line


def test_a_free_that_does_not_wait_is_found_in_the_line_of_the_program() -> None:
    findings, line = launched_and_freed(waits=False)
    assert findings == [("SS102", line)]


def test_a_free_that_waits_is_right() -> None:
    assert launched_and_freed(waits=True)[0] == []


def begun() -> int:
    """Make a context current and return it."""
    driver.init(0)
    context = driver.device_primary_ctx_retain(0)
    assert driver.ctx_set_current(context) is None
    return int(context)


def test_a_status_is_an_error_of_its_own_class(simulated: Session) -> None:
    with pytest.raises(driver.NotInitializedError):
        driver.stream_create(0)
    begun()
    with pytest.raises(driver.OutOfMemoryError) as caught:
        driver.mem_alloc_v2(1 << 50)
    assert isinstance(caught.value, driver.DriverError)
    assert caught.value.status == driver.Result.ERROR_OUT_OF_MEMORY == 2
    assert str(caught.value) == "ERROR_OUT_OF_MEMORY (2)"
    kind, arguments = caught.value.__reduce__()
    assert kind is driver.OutOfMemoryError
    assert str(kind(*arguments)) == str(caught.value)
    with pytest.raises(driver.InvalidValueError):
        driver.mem_alloc_v2(0)
    assert driver.DriverTimeoutError.__mro__[1] is driver.DriverError
    assert driver.get_error_name(2) == "CUDA_ERROR_OUT_OF_MEMORY"


def test_wrong_arguments_are_type_errors(simulated: Session) -> None:
    with pytest.raises(TypeError, match=r"mem_alloc_v2\(\) takes exactly 1 positional argument \(0 given\)"):
        driver.mem_alloc_v2()
    with pytest.raises(TypeError, match="unexpected keyword argument 'hStream'"):
        driver.mem_alloc_async(64, hStream=0)
    with pytest.raises(TypeError):
        driver.mem_alloc_v2("64")


def test_outputs_come_alone_and_plain(simulated: Session) -> None:
    assert begun() == driver.ctx_get_current()
    free, total = driver.mem_get_info_v2()
    assert 0 < free <= total
    assert driver.device_get_name(64, 0).startswith(b"Simulated")
    block = driver.mem_alloc_v2(bytesize=64)
    assert isinstance(block, int)
    assert driver.pointer_get_attribute(driver.PointerAttribute.DEVICE_POINTER, block) == block
    assert driver.mem_get_address_range_v2(block + 8) == (block, 64)
    back = bytearray(4)
    driver.memcpy_htod_v2(block, b"abcd" * 16, 64)
    driver.memcpy_dtoh_v2(back, block, 4)
    assert back == b"abcd"
    driver.mem_free_v2(block)


def test_attributes_of_a_pool_are_set_by_address(simulated: Session) -> None:
    begun()
    pool, attribute = driver.device_get_default_mem_pool(0), driver.MemPoolAttribute
    for name, value in (
        ("RELEASE_THRESHOLD", ctypes.c_uint64(1 << 33)),
        ("REUSE_ALLOW_OPPORTUNISTIC", ctypes.c_int(0)),
    ):
        driver.mem_pool_set_attribute(pool, attribute[name], ctypes.addressof(value))
        assert driver.mem_pool_get_attribute(pool, attribute[name]) == value.value
    with pytest.raises(ValueError, match="value=0x0: there is no memory at this address"):
        driver.mem_pool_set_attribute(pool, attribute.RELEASE_THRESHOLD, 0)


def test_a_graph_and_a_host_function(simulated: Session) -> None:
    begun()
    seen: list[int] = []
    function = HOST(seen.append)
    graph = driver.graph_create(0)
    first = driver.graph_add_empty_node(graph, [], 0)
    assert first != driver.graph_add_empty_node(graph, [first], 1)
    stream = driver.stream_create(0)
    driver.graph_launch(driver.graph_instantiate(graph, 0), stream)
    driver.launch_host_func(stream, ctypes.cast(function, ctypes.c_void_p).value, 7)
    driver.stream_synchronize(stream)
    assert driver.stream_query(stream) is None
    assert seen == [7]


def test_the_compiler(simulated: Session) -> None:
    program = nvrtc.create_program(b"__global__ void f(int *x) { *x = ; }", None, [b"// nothing"], [b"a.h"])
    with pytest.raises(nvrtc.NvrtcError, match=r"^NVRTC_ERROR_COMPILATION$") as caught:
        nvrtc.compile_program(program, [b"-lineinfo"])
    assert type(caught.value) is nvrtc.CompilationError
    assert nvrtc.get_program_log(program).endswith(b"\0")
    assert nvrtc.version()[0] == catalogue("driver").major
    assert nvrtc.get_error_string(nvrtc.Result.ERROR_COMPILATION) == "NVRTC_ERROR_COMPILATION"
    assert nvrtc.get_pch_create_status(program) == nvrtc.Result.ERROR_NO_PCH_CREATE_ATTEMPTED
    with pytest.raises(nvrtc.InvalidProgramError):
        nvrtc.get_lowered_name(0, b"name")


def test_enumerations_have_short_names() -> None:
    assert {member.name: int(member) for member in driver.StreamFlags} == {"DEFAULT": 0, "NON_BLOCKING": 1}
    assert driver.MemHostAllocFlags.PORTABLE == 1
    assert driver.SpecialStream.PER_THREAD == 2
    assert driver.GraphConditionalNodeType.IF_ == 0
    assert driver.JitTarget.TARGET_COMPUTE_90 == 90
    assert nvrtc.InstallHeadersFlag.NO_WAIT == 2
    assert repr(driver.Result.SUCCESS) == "<Result.SUCCESS: 0>"


def test_a_structure_that_is_given_is_named(simulated: Session) -> None:
    begun()
    graph = driver.graph_create(0)
    node = driver.graph_add_empty_node(graph, None, 0)
    driver.graph_add_dependencies_v2(graph, [node], [driver.graph_add_empty_node(graph, 0, 0)], 0, 1)
    with pytest.raises(AttributeError, match=r"graph_add_dependencies_v2\(edge_data=bytes\) is not simulated"):
        driver.graph_add_dependencies_v2(graph, [node], [node], b"edges", 1)
    with pytest.raises(AttributeError, match=r"graph_add_empty_node\(dependencies=int\) is not simulated"):
        driver.graph_add_empty_node(graph, 4096, 1)


def test_names_follow_from_those_of_the_driver() -> None:
    names = v2_names.driver_functions(catalogue("driver"))
    assert names["mem_free_v2"] == "cuMemFree"
    assert names["memcpy_dtoh_async_v2"] == "cuMemcpyDtoHAsync"
    assert names["memcpy_2d_async_v2"] == "cuMemcpy2DAsync"
    assert names["memset_d8_async"] == "cuMemsetD8Async"
    assert names["device_get_pci_bus_id"] == "cuDeviceGetPCIBusId"
    assert (names["ctx_synchronize"], names["ctx_synchronize_v2"]) == ("cuCtxSynchronize", "cuCtxSynchronize_v2")
    assert "mem_alloc" not in names


def test_what_is_listed_is_there_and_structures_are_not() -> None:
    for module in (driver, nvrtc):
        names = [name for name in dir(module) if not name.startswith("__")]
        assert len(names) > 40
        for name in names:
            assert getattr(module, name) is not None, name
        assert not any(name.startswith("_") for name in names)
    for name in ("MemPoolProps_v1", "mem_location_v1_dtype", "mem_pool_create", "graph_get_edges_v2"):
        assert name not in dir(driver)
        with pytest.raises(
            AttributeError, match=rf"cuda\.bindings\._v2\.driver\.{name} is not simulated by streamsan sim"
        ):
            getattr(driver, name)
    with pytest.raises(AttributeError, match=r"module 'cuda\.bindings\._v2\.driver' has no attribute 'nonsense'"):
        driver.nonsense  # noqa: B018


def test_it_is_imported_by_its_name() -> None:
    with device():
        package = importlib.import_module("cuda.bindings._v2")
        assert importlib.import_module("cuda.bindings._v2.driver") is driver
        assert importlib.import_module("cuda.bindings._v2.nvrtc") is package.nvrtc is nvrtc

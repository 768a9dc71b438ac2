"""Devices: attributes, properties, names, limits of peers. Texts are `str`; bytes are latin-1 text."""

from __future__ import annotations

from streamsan.effects import Role
from streamsan.model.answers import answers, give
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.hardware import Machine
from streamsan.model.statuses import INVALID_DEVICE, INVALID_VALUE, SUCCESS
from streamsan.model.values import Outcome, Value
from streamsan.platforms import CUDA

_LAST_ATTRIBUTE = CUDA.constants["cudaDevAttrMax"]
_P2P_SUPPORTED = frozenset(
    CUDA.constants[name]
    for name in (
        "cudaDevP2PAttrAccessSupported",
        "cudaDevP2PAttrNativeAtomicSupported",
        "cudaDevP2PAttrCudaArrayAccessSupported",
    )
)


give(
    {
        "cuDeviceTotalMem": lambda core, call, machine: core.executor.memory_info(_device(call))[1],
        "cudaChooseDevice": lambda core, call, machine: 0,  # all are alike
        "cudaDriverGetVersion cuDriverGetVersion": lambda core, call, machine: machine.driver_version,
        "cudaRuntimeGetVersion": lambda core, call, machine: machine.runtime_version,
        "cuDeviceGetExecAffinitySupport": lambda core, call, machine: 0,
    }
)


@answers("cudaDeviceGetAttribute", "cuDeviceGetAttribute")
def _attribute(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    wanted = call.named("attr" if call.api.domain == "runtime" else "attrib")
    if wanted is None or not 0 < wanted <= _LAST_ATTRIBUTE:
        return Outcome(INVALID_VALUE)
    return call.gives(machine.attribute(wanted, _device(call)))


@answers("cudaGetDeviceProperties")
def _runtime_properties(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    device = _device(call)
    fields: dict[str, Value] = {name: machine.attribute(wanted, device) for name, wanted in machine.properties.items()}
    fields |= {
        "name": machine.name,
        "uuid.bytes": machine.uuid(device),
        "totalGlobalMem": core.executor.memory_info(device)[1],
    }
    return call.gives_fields(fields)


@answers("cuDeviceGetProperties")
def _driver_properties(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give the few properties that the driver's old structure has."""
    names = {
        "maxThreadsPerBlock": "MaxThreadsPerBlock",
        "maxThreadsDim.0": "MaxBlockDimX",
        "maxThreadsDim.1": "MaxBlockDimY",
        "maxThreadsDim.2": "MaxBlockDimZ",
        "maxGridSize.0": "MaxGridDimX",
        "maxGridSize.1": "MaxGridDimY",
        "maxGridSize.2": "MaxGridDimZ",
        "sharedMemPerBlock": "MaxSharedMemoryPerBlock",
        "totalConstantMemory": "TotalConstantMemory",
        "SIMDWidth": "WarpSize",
        "memPitch": "MaxPitch",
        "regsPerBlock": "MaxRegistersPerBlock",
        "clockRate": "ClockRate",
        "textureAlign": "TextureAlignment",
    }
    device = _device(call)
    return call.gives_fields(
        {key: machine.attribute(CUDA.constants[f"cudaDevAttr{name}"], device) for key, name in names.items()}
    )


@answers("cuDeviceGetName")
def _name(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give a device's name, cut to the buffer."""
    length = call.named("len")
    return call.gives(machine.name if length is None else machine.name[: max(length - 1, 0)])


@answers("cuDeviceGetUuid")
def _uuid(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    return call.gives_fields({"bytes": machine.uuid(_device(call))})


@answers("cuDeviceComputeCapability")
def _compute_capability(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    words = ("cudaDevAttrComputeCapabilityMajor", "cudaDevAttrComputeCapabilityMinor")
    return call.gives(*(machine.attribute(CUDA.constants[word], 0) for word in words))


@answers("cuDeviceGetLuid")
def _luid(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """A LUID is a matter of Windows."""
    return Outcome(CUDA.constants["CUDA_ERROR_NOT_SUPPORTED"])


@answers("cudaDeviceGetPCIBusId", "cuDeviceGetPCIBusId")
def _pci_bus_id(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    text, length = machine.pci_bus_id(_device(call)), call.named("len")
    return call.gives(text) if length is None or length > len(text) else Outcome(INVALID_VALUE)


@answers("cudaDeviceGetByPCIBusId", "cuDeviceGetByPCIBusId")
def _by_pci_bus_id(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    text = call.values.get("pciBusId")
    for device in range(machine.count):
        full = machine.pci_bus_id(device)
        if isinstance(text, str) and text.upper() in (full, full.removeprefix("0000:"), full.removesuffix(".0")):
            return call.gives(device)
    return Outcome(INVALID_DEVICE if call.api.domain == "driver" else INVALID_VALUE)


@answers("cudaDeviceGetP2PAttribute", "cuDeviceGetP2PAttribute")
def _peer_attribute(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    wanted = call.named("attr" if call.api.domain == "runtime" else "attrib")
    source, to = call.named("srcDevice"), call.named("dstDevice")
    if wanted is None or source == to:
        return Outcome(INVALID_VALUE if wanted is None else INVALID_DEVICE)
    return call.gives(int(wanted in _P2P_SUPPORTED))


@answers("cudaMemGetInfo", "cuMemGetInfo")
def _memory_info(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    return call.gives(*core.executor.memory_info(core.current(call.thread, call.site).ordinal))


@answers("cuInit")
def _initialise(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Flags must be 0."""
    return Outcome(SUCCESS if call.number(Role.FLAGS) in (0, None) else INVALID_VALUE, {})


def _device(call: Call) -> int:
    device = call.number(Role.DEVICE)
    return 0 if device is None else device

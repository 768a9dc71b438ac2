"""The runtime's error of a host thread, and names of errors."""

from __future__ import annotations

from streamsan.model.answers import answers
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.hardware import Machine
from streamsan.model.statuses import INVALID_VALUE, NOT_READY, SUCCESS
from streamsan.model.values import Outcome
from streamsan.patterns.late_pattern import late_pattern
from streamsan.platforms import CUDA

_WORD = late_pattern(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+")


_TEXTS = {
    0: "no error",
    1: "invalid argument",
    2: "out of memory",
    3: "initialization error",
    4: "driver shutting down",
    9: "invalid configuration argument",
    12: "invalid pitch argument",
    20: "invalid channel descriptor",
    21: "invalid copy direction for memcpy",
    98: "invalid device function",
    100: "no CUDA-capable device is detected",
    101: "invalid device ordinal",
    200: "device kernel image is invalid",
    201: "invalid device context",
    301: "file not found",
    400: "invalid resource handle",
    500: "named symbol not found",
    600: "device not ready",
    700: "an illegal memory access was encountered",
    704: "peer access is already enabled",
    705: "peer access has not been enabled",
    709: "context is destroyed",
    712: "part or all of the requested memory range is already mapped",
    713: "pointer does not correspond to a registered memory region",
    719: "unspecified launch failure",
    800: "operation not permitted",
    801: "operation not supported",
    900: "operation not permitted when stream is capturing",
    901: "operation failed due to a previous error during capture",
    902: "operation would result in a merge of separate capture sequences",
    903: "capture was not ended in the same stream as it began",
    904: "capturing stream has unjoined work",
    905: "dependency created on uncaptured work in another stream",
    906: "operation would make the legacy stream depend on a capturing blocking stream",
    907: "operation not permitted on an event last recorded in a capturing stream",
    999: "unknown error",
}
"""What cudaGetErrorString and cuGetErrorString give for the errors that programs meet here (CUDA 13.0, driver 580)"""


def words(name: str) -> str:
    """Return an error in words, as CUDA does; those that do not occur here by their names."""
    known = _TEXTS.get(CUDA.constants.get(name, 0) if name not in ("cudaSuccess", "CUDA_SUCCESS") else 0)
    if known is not None and (CUDA.constants.get(name) or name.endswith(("Success", "SUCCESS"))):
        return known
    if name.startswith("CUDA_"):
        return name.removeprefix("CUDA_").removeprefix("ERROR_").replace("_", " ").lower()
    short = name.removeprefix("cuda").removeprefix("Error")
    return " ".join(word.lower() for word in _WORD.findall(short))


def note_error(call: Call, status: int) -> None:
    """Keep the error of a call for cudaGetLastError. That work is not done yet is none; a query's answer is not."""
    if call.api.domain == "runtime" and status > SUCCESS and status != NOT_READY:
        call.thread.last_error = status


def _asked(core: ModelCore, call: Call, error: int) -> None:
    """Leave a call in the trace by which the program shows that it looks at an error (SS601)."""
    process = call.thread.process
    if error > SUCCESS and process.initialised and not process.poisoned:
        core.say(call)


@answers("cudaGetLastError", "cudaPeekAtLastError")
def _last_error(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give the thread's error, and clear it unless it is peeked at; an error of the context stays."""
    error = core.sticky_error(call.thread) or call.thread.last_error
    if call.api.name == "cudaGetLastError":
        call.thread.last_error = SUCCESS
    _asked(core, call, error)
    return Outcome(error)


@answers("cudaGetErrorName", "cudaGetErrorString", "cuGetErrorName", "cuGetErrorString")
def _error_name(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give an error's name, or the error in words; the runtime's calls return it (`outputs["return"]`)."""
    error, runtime = call.named("error") or 0, call.api.domain == "runtime"
    _asked(core, call, error)
    success = "cudaSuccess" if runtime else "CUDA_SUCCESS"
    name = CUDA.error_names(call.api.name).get(error) if error else success
    text = name if name is None or call.api.name.endswith("Name") else words(name)
    if runtime:
        return Outcome(SUCCESS, {"return": "unrecognized error code" if text is None else text})
    return Outcome(INVALID_VALUE) if text is None else call.gives(text)

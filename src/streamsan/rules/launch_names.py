"""What a launch is called: its kernel, or the function of a library that stands for all kernels it launches."""

from __future__ import annotations

from streamsan.patterns.late_pattern import late_pattern
from streamsan.rules.collective_names import collective_noun
from streamsan.trace.function_names import short_name
from streamsan.trace.trace import RECORDING

_ANONYMOUS_NAMESPACE = "(anonymous namespace)::"
_LIBRARY_CALL = late_pattern(r"(cublas|cufft|curand|cusparse|cusolver|cudnn|nccl)[A-Z]|(cub|thrust)::")


def kernel_name(label: str) -> str:
    """Return a kernel's name without parameters, return type and anonymous namespaces."""
    return short_name(label).replace(_ANONYMOUS_NAMESPACE, "")


def is_library_call(label: str, origin: str) -> bool:
    """Tell whether a launch is a library's function: in a recording it never is, but kernels have such names there."""
    return origin != RECORDING and _LIBRARY_CALL.match(label) is not None


def launched(label: str, origin: str) -> str:
    """Return what a launch runs: "kernel `scale`", "the all-reduce", "the work of `cublasSgemm`"."""
    if noun := collective_noun(label):
        return noun
    if is_library_call(label, origin):
        return f"the work of `{label}`"
    return f"kernel `{kernel_name(label)}`" if label else "a kernel"

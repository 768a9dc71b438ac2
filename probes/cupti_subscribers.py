"""Who may use CUPTI beside whom: python probes/cupti_subscribers.py LIBCUPTI (needs a driver).

Each line: subscriptions in a process of their own, in their order, and the status of each (0: it is in; 39: refused).
`v1` is cuptiSubscribe; `silent` cuptiSubscribe_v2 with the structure of CUDA 13.0, which cannot ask; `alone` and
`shared` ask that others are kept out or let in. Behind the last, what functions without a subscriber say.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys

ORDERS = (
    *("v1 v1", "v1 silent", "v1 shared", "silent v1", "silent silent", "silent shared", "silent shared v1"),
    *("alone shared", "shared v1", "shared silent", "shared shared", "shared alone", "silent", "shared"),
)


class Parameters(ctypes.Structure):
    """CUpti_SubscriberParams of 13.5."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("old_name", ctypes.c_void_p),
        ("old_name_size", ctypes.c_size_t),
        ("allow_multiple", ctypes.c_uint8),
        ("padding", ctypes.c_uint8 * 7),
    )


CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)
REQUEST = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
COMPLETE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)


def subscribed(library: ctypes.CDLL, order: str) -> str:
    """Subscribe in an order; return the statuses."""
    said, kept = [], []
    for kind in order.split():
        handle, called = ctypes.c_void_p(), CALLBACK(lambda *_: None)
        kept.append(called)
        old = ctypes.create_string_buffer(128)
        size = 32 if kind == "silent" else ctypes.sizeof(Parameters)
        wanted = Parameters(size, kind.encode(), ctypes.addressof(old), len(old), int(kind == "shared"))
        if kind == "v1":
            status = library.cuptiSubscribe(ctypes.byref(handle), called, None)
        else:
            status = library.cuptiSubscribe_v2(ctypes.byref(handle), called, None, ctypes.byref(wanted))
        enabled = library.cuptiEnableCallback(1, handle, 1, 1) if status == 0 else "-"
        said.append(f"{kind}={status} (callback {enabled}{', by ' + old.value.decode() if old.value else ''})")
    request, complete = REQUEST(lambda *_: None), COMPLETE(lambda *_: None)
    without = {
        "RegisterCallbacks": library.cuptiActivityRegisterCallbacks(request, complete),
        "Enable": library.cuptiActivityEnable(10),
        "FlushPeriod": library.cuptiActivityFlushPeriod(1000),
        "EnableLatencyTimestamps": library.cuptiActivityEnableLatencyTimestamps(1),
        "PushExternalCorrelationId": library.cuptiActivityPushExternalCorrelationId(3, ctypes.c_uint64(1)),
    }
    return ", ".join(said) + "; " + ", ".join(f"{name}={status}" for name, status in without.items())


def main() -> int:
    """Print a line for each order."""
    if len(sys.argv) == 3:
        library = ctypes.CDLL(sys.argv[1])
        driver = ctypes.CDLL("libcuda.so.1")
        driver.cuInit(0)
        print(subscribed(library, sys.argv[2]), flush=True)
        return 0
    version = ctypes.c_uint32()
    ctypes.CDLL(sys.argv[1]).cuptiGetVersion(ctypes.byref(version))
    print(f"CUPTI {version.value}")
    for order in ORDERS:
        done = subprocess.run([sys.executable, __file__, sys.argv[1], order], capture_output=True, text=True)
        print(f"{order:20} {done.stdout.strip() or done.stderr.strip()[-200:]}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

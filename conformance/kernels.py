"""The kernels of the cases: their source, and what they compute on the simulated device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

SOURCE = rb"""
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define TRIGGER asm volatile("griddepcontrol.launch_dependents;")
#define WAIT_FOR_PREREQUISITES asm volatile("griddepcontrol.wait;")
#else
#define TRIGGER
#define WAIT_FOR_PREREQUISITES
#endif

extern "C" __device__ unsigned int words[1024];

static __device__ unsigned long long now() {
    unsigned long long t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
}

extern "C" __global__ void spin(unsigned long long nanoseconds, volatile unsigned int *done) {
    unsigned long long begin = now();
    while (now() - begin < nanoseconds) { }
    *done = 1;
    __threadfence_system();
}

extern "C" __global__ void write_words(unsigned int *to, unsigned int value, unsigned int n) {
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) to[i] = value;
}

extern "C" __global__ void copy_words(unsigned int *to, const unsigned int *from, unsigned int n) {
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) to[i] = from[i];
}

extern "C" __global__ void trigger_then_write(unsigned int *to, unsigned int value, unsigned int n,
                                              unsigned long long nanoseconds) {
    TRIGGER;
    unsigned long long begin = now();
    while (now() - begin < nanoseconds) { }
    for (unsigned int i = threadIdx.x; i < n; i += blockDim.x) to[i] = value;
}

extern "C" __global__ void copy_at_once(unsigned int *to, const unsigned int *from, unsigned int n) {
    for (unsigned int i = threadIdx.x; i < n; i += blockDim.x) to[i] = from[i];
}

extern "C" __global__ void copy_dependent(unsigned int *to, const unsigned int *from, unsigned int n) {
    WAIT_FOR_PREREQUISITES;
    for (unsigned int i = threadIdx.x; i < n; i += blockDim.x) to[i] = from[i];
}
"""
"""spin: keeps a stream busy for a time, then says so in memory of the host."""


def _spin(nanoseconds: int, done: Any) -> None:
    done[0] = 1


def _write_words(to: Any, value: int, n: int) -> None:
    to[:n] = value


def _copy(to: Any, source: Any, n: int) -> None:
    to[:n] = source[:n]


def _trigger_then_write(to: Any, value: int, n: int, nanoseconds: int) -> None:
    to[:n] = value


BODIES: dict[str, Callable[..., object]] = {
    "spin": _spin,
    "write_words": _write_words,
    "copy_words": _copy,
    "trigger_then_write": _trigger_then_write,
    "copy_at_once": _copy,
    "copy_dependent": _copy,
}

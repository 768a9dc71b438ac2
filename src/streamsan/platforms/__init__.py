"""What a platform is: its API's table, what it does with memory, frees and statuses, how its functions are named.

A platform is a folder of data, `platforms/<name>/`, read by `Platform`; a trace names its own
(`platform_of(trace.platform)`). What is CUDA's by nature (the model of its API, the simulated device, the reader of .cu
files) takes `CUDA`. To add one: a folder with `facts.toml`, `constants.toml`, `waits.toml` and `api/*.toml` as in
`platforms/cuda/`, and a recorder. C++ has the same facts in `generated/facts.hpp` of its build folder.
"""

from streamsan.platforms.facts import FreeFacts, Interface, MemoryFacts, Statuses
from streamsan.platforms.platform import Platform
from streamsan.platforms.registry import CUDA, UnknownPlatformError, platform_of, register

__all__ = [
    "CUDA",
    "FreeFacts",
    "Interface",
    "MemoryFacts",
    "Platform",
    "Statuses",
    "UnknownPlatformError",
    "platform_of",
    "register",
]

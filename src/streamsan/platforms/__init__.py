"""What a platform is: its API's table, what it does with memory, frees and statuses, how its functions are named.

A platform is a folder of data, `platforms/<name>/`, read by `Platform`; a trace names its own
(`platform_of(trace.platform)`), and in a program that uses several each call tells its own (`platform_of_call`).
What is CUDA's by nature (the model of its API, the simulated device, the reader of .cu files) takes `CUDA`. To add
one: a folder with `facts.toml`, `waits.toml`, `rules.toml`, `api/*.toml`, and the numbers of its constants in
`python_bindings.json` or `constants.json`, as in `platforms/cuda/` and `platforms/opencl/`, and a recorder. C++ has
the same facts in `generated/facts.hpp` of its build folder.
"""

from streamsan.platforms.platform import Platform as Platform
from streamsan.platforms.platform_facts import FreeFacts as FreeFacts
from streamsan.platforms.platform_facts import Interface as Interface
from streamsan.platforms.platform_facts import MemoryFacts as MemoryFacts
from streamsan.platforms.platform_facts import Statuses as Statuses
from streamsan.platforms.registry import CUDA as CUDA
from streamsan.platforms.registry import OPENCL as OPENCL
from streamsan.platforms.registry import UnknownPlatformError as UnknownPlatformError
from streamsan.platforms.registry import platform_of as platform_of
from streamsan.platforms.registry import platform_of_call as platform_of_call
from streamsan.platforms.registry import register as register

"""What kernels do, read off their source: which memory they touch and how, what is sure, and what they wait for.

In: functions of a unit (`cuda_syntax`). Out: a `KernelBehaviour` for each kernel (`behaviour`, look there first). The
reader of sources and the compiler of the simulated device both ask it. `flattening` takes a kernel's structures apart,
so that the others meet none; `pointer_uses` follows pointers through a body, `first_thread` follows thread 0 to what
every launch touches, `waiting` looks for waits in the text; `host_access` is for host functions.
"""

"""What a kernel touches, read from its machine code (SASS).

Comes in: a cubin, the ELF file that the driver loads. Goes out: for each kernel, through which words of its parameters
it reads, writes, or does neither (`kernel_accesses.accesses_of`); for a launch whose sizes and arguments are known,
which bytes (`launch_extents.extents_of`). Look first at `pointer_flow`: which register may hold an address that came
from which parameter; and at `lane_machine`: what the threads of a launch compute, all at once.

NVIDIA does not document SASS. What is not known here gives "may" (`AccessMode.OPAQUE`), never "does not".
"""

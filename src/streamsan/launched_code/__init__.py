"""What a trace's kernels do, read from the code or text beside the trace, in place of what their signatures say.

Comes in: a trace whose launches name their shape, and the folder with the images of code. Goes out: the same trace,
whose slots say of each reference whether the kernel reads or writes there. Look first at `resolution.resolve_kernels`.

The trace, the folder and the images are anyone's: names, sizes and contents are checked.
"""

"""From a recording of a Python program to a patch of its text.

The program is not run again: an edit is made in the recorded trace, at the rows before or behind which the text would
make it, and the engine analyses that. The text has to be the one that was recorded, line by line.

- `recorded_fixes`: the findings of one recording, the gravest first, each on the trace with the edits before it.
- `recorded_text`: the texts, held against the lines in the trace; the places of recorded calls in their trees.
- `stream_names`, `tensor_names`: what the program calls a stream, or a tensor, at a place: from the lines whose calls
  the trace shows to have run on it. A name that is not known there for sure is not used.
- `frameworks`: how PyTorch, CuPy and pyopencl write a wait.
- `order_writer`, `command_writer`, `pool_writer`, `removal`: what may be written for a step.
- `rows_of_text`: the operations before and behind which a statement's code stands, and edits of the trace there.
"""

"""What a running Python program says of itself, without running anything for it.

`call_text`: what its text says of a call at a place. `visible_names`: what the frames on the stack could name there.
The simulator asks while the program runs; fixes of Python text use the answers afterwards.
"""

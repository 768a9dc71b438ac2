"""What the program computes with: types, cells and pointers, terms over unknowns, and the frames that hold them.

Nothing here runs anything. Start with `cells`: a `Cell` is a variable, and `Value` is all that it may hold.
"""

"""Objects and arrays: their layout, their cells, their life, and which pointers can still be reached through them.

`life.Objects` is the whole; it stands on `object_copies`, `cell_storage` and `class_layout`, each of which knows less
than the one above.
"""

"""Edits of source text that the syntax tree guides: where a call stands, what is visible there, how to write it."""

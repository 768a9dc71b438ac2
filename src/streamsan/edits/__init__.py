"""Fixes as text: edits of C++ and of Python sources."""

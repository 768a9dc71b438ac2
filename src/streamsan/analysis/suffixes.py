"""What a file is, by the end of its name."""

SOURCE_SUFFIXES = frozenset({".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp"})
HEADER_SUFFIXES = frozenset({".cuh", ".h", ".hpp"})
TRACE_SUFFIX = ".sst"
PYTHON_PROGRAMS = frozenset({".py", ".pyw"})

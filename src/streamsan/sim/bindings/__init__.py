"""Modules with the names, arguments and results of `cuda.bindings`."""

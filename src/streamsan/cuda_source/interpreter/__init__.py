"""An abstract interpreter of C++ host code: concrete values where known, symbols where not.

`explore` finds the entries and runs each path; `machine` is the state of one path; `statements`, `loops`,
`expressions`, `operators`, `calls`, `functions` and `objects` know C++; `device`, `host_memory`, `kernels` and `places`
carry values and places to the device model; `reach` finds lost pointers; `library` models the standard library.
"""

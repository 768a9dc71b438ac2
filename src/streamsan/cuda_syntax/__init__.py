"""From CUDA C++ text to a typed tree, whatever the text holds.

In: a file or a text. Out: a `Unit` of `tree`, with a Problem for what could not be followed. The way through is `unit`:
`preprocess` decides `#if` and includes (macros stay calls), the grammar (tree-sitter) gives nodes, `lowering` finds
what a node stands for in the tables of the levels (`declaration_nodes`, `statement_nodes`, ...), and `repairs` takes
damaged regions apart so that an error hides little. `compiler_options` is what a compiler is told about a source;
it loads nothing of the rest.
"""

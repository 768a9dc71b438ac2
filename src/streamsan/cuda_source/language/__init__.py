"""Statements and expressions of C++.

A tree comes in, a `Completion` or an `Operand` goes out. `statements` and `expressions` have a table of handlers each;
what a name means is in `name_lookup`, what an operand holds in `operand_values`.
"""

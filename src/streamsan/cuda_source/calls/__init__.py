"""Calls: what a callee means (`dispatch`), which function is chosen and run, and code that nobody can see."""

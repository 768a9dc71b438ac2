"""A run while it goes on: what its trace has so far, and a view of that on a terminal.

`growing_trace` reads what was committed since the last look, `live_run` keeps tables of it, `rechecks` has the trace
checked now and then, `watched_run` puts them together, `watch_app` shows them.
"""

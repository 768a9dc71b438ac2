"""Who does the work of a check of many inputs: processes of this machine, a Dask cluster, a Ray cluster.

Each engine is a module, loaded when it is asked for, that spreads paths over workers and gives what comes of them as it
comes (`worker_engine`). What a worker does is one task (`worker_tasks`); what is done where workers die is decided
once, for all engines (`lost_workers`).
"""

"""Towards the device model: calls of the API with their structures and kernels, addresses, places in the source.

`api_calls` makes the calls; `device` and `host_memory` tell the model the rest; `source_sites`, `made_names` and
`call_failures` say where, of what, and with what outcome.
"""

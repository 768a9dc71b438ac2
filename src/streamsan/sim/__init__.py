"""The simulated device: CUDA Python programs run without a GPU, on a device that keeps the contract and no more.

In: a Python program that imports `cuda.bindings` (`start` runs it; it imports `bindings/` instead, by `shim/`).
Out: its own results, and a trace. Look first at `session` (one simulated process): it gives each call to the device
model, whose `executor/` keeps bytes and runs work as late as the schedule says; `exchange/` is what processes share.
"""

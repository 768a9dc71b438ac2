"""Small CUDA programs that say what they observe, run unchanged on a GPU and on the simulated device.

See docs/conformance.md. `python -m conformance` is the command.
"""

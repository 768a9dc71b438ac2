"""`cuda.bindings.nvfatbin` is not simulated."""

raise ImportError(
    "streamsan sim simulates cuda.bindings (driver, runtime, nvrtc); cuda.bindings.nvfatbin is not simulated"
)
